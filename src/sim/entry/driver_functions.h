/*
 * What the simulator plays of the driver API, one line each: DRIVER(name), and DRIVER_PTDS(name,
 * suffix, parameters, arguments) for those whose symbol differs with the per-thread default stream.
 * The symbols, "cuMemAlloc_v2", come from the descriptions that the headers give.
 */
DRIVER(cuArray3DCreate)
DRIVER(cuArray3DGetDescriptor)
DRIVER(cuArrayCreate)
DRIVER(cuArrayDestroy)
DRIVER(cuArrayGetDescriptor)
DRIVER(cuCtxCreate)
DRIVER(cuCtxDestroy)
DRIVER(cuCtxDisablePeerAccess)
DRIVER(cuCtxEnablePeerAccess)
DRIVER(cuCtxGetApiVersion)
DRIVER(cuCtxGetCacheConfig)
DRIVER(cuCtxGetCurrent)
DRIVER(cuCtxGetDevResource)
DRIVER(cuCtxGetDevice)
DRIVER(cuCtxGetDevice_v2)
DRIVER(cuCtxGetFlags)
DRIVER(cuCtxGetId)
DRIVER(cuCtxGetLimit)
DRIVER(cuCtxGetSharedMemConfig)
DRIVER(cuCtxGetStreamPriorityRange)
DRIVER(cuCtxPopCurrent)
DRIVER(cuCtxPushCurrent)
DRIVER(cuCtxRecordEvent)
DRIVER(cuCtxResetPersistingL2Cache)
DRIVER(cuCtxSetCacheConfig)
DRIVER(cuCtxSetCurrent)
DRIVER(cuCtxSetFlags)
DRIVER(cuCtxSetLimit)
DRIVER(cuCtxSetSharedMemConfig)
DRIVER(cuCtxSynchronize)
DRIVER(cuCtxSynchronize_v2)
DRIVER(cuCtxWaitEvent)
DRIVER(cuDevResourceGenerateDesc)
DRIVER(cuDevSmResourceSplit)
DRIVER(cuDevSmResourceSplitByCount)
DRIVER(cuDeviceCanAccessPeer)
DRIVER(cuDeviceComputeCapability)
DRIVER(cuDeviceGet)
DRIVER(cuDeviceGetAttribute)
DRIVER(cuDeviceGetByPCIBusId)
DRIVER(cuDeviceGetCount)
DRIVER(cuDeviceGetDefaultMemPool)
DRIVER(cuDeviceGetDevResource)
DRIVER(cuDeviceGetGraphMemAttribute)
DRIVER(cuDeviceGetMemPool)
DRIVER(cuDeviceGetName)
DRIVER(cuDeviceGetP2PAttribute)
DRIVER(cuDeviceGetPCIBusId)
DRIVER(cuDeviceGetUuid)
DRIVER(cuDeviceGraphMemTrim)
DRIVER(cuDevicePrimaryCtxGetState)
DRIVER(cuDevicePrimaryCtxRelease)
DRIVER(cuDevicePrimaryCtxReset)
DRIVER(cuDevicePrimaryCtxRetain)
DRIVER(cuDevicePrimaryCtxSetFlags)
DRIVER(cuDeviceSetGraphMemAttribute)
DRIVER(cuDeviceSetMemPool)
DRIVER(cuDeviceTotalMem)
DRIVER(cuDriverGetVersion)
DRIVER(cuEventCreate)
DRIVER(cuEventDestroy)
DRIVER(cuEventElapsedTime)
DRIVER(cuEventQuery)
DRIVER_PTDS(cuEventRecord, ptsz, (CUevent event, CUstream stream), (event, stream))
DRIVER_PTDS(cuEventRecordWithFlags, ptsz, (CUevent event, CUstream stream, unsigned flags),
            (event, stream, flags))
DRIVER(cuEventSynchronize)
DRIVER(cuFuncGetAttribute)
DRIVER(cuFuncGetModule)
DRIVER(cuFuncGetName)
DRIVER(cuFuncGetParamCount)
DRIVER(cuFuncGetParamInfo)
DRIVER(cuFuncIsLoaded)
DRIVER(cuFuncLoad)
DRIVER(cuFuncSetAttribute)
DRIVER(cuFuncSetCacheConfig)
DRIVER(cuGetErrorName)
DRIVER(cuGetErrorString)
DRIVER(cuGetProcAddress)
DRIVER(cuGraphAddBatchMemOpNode)
DRIVER(cuGraphAddChildGraphNode)
DRIVER(cuGraphAddDependencies)
DRIVER(cuGraphAddEmptyNode)
DRIVER(cuGraphAddEventRecordNode)
DRIVER(cuGraphAddEventWaitNode)
DRIVER(cuGraphAddKernelNode)
DRIVER(cuGraphBatchMemOpNodeGetParams)
DRIVER(cuGraphBatchMemOpNodeSetParams)
DRIVER(cuGraphChildGraphNodeGetGraph)
DRIVER(cuGraphClone)
DRIVER(cuGraphCreate)
DRIVER(cuGraphDebugDotPrint)
DRIVER(cuGraphDestroy)
DRIVER(cuGraphDestroyNode)
DRIVER(cuGraphEventRecordNodeGetEvent)
DRIVER(cuGraphEventRecordNodeSetEvent)
DRIVER(cuGraphEventWaitNodeGetEvent)
DRIVER(cuGraphEventWaitNodeSetEvent)
DRIVER(cuGraphExecBatchMemOpNodeSetParams)
DRIVER(cuGraphExecChildGraphNodeSetParams)
DRIVER(cuGraphExecDestroy)
DRIVER(cuGraphExecEventRecordNodeSetEvent)
DRIVER(cuGraphExecEventWaitNodeSetEvent)
DRIVER(cuGraphExecGetFlags)
DRIVER(cuGraphExecGetId)
DRIVER(cuGraphExecKernelNodeSetParams)
DRIVER(cuGraphExecUpdate)
DRIVER(cuGraphGetEdges)
DRIVER(cuGraphGetId)
DRIVER(cuGraphGetNodes)
DRIVER(cuGraphGetRootNodes)
DRIVER(cuGraphInstantiate)
DRIVER(cuGraphInstantiateWithParams)
DRIVER(cuGraphKernelNodeCopyAttributes)
DRIVER(cuGraphKernelNodeGetAttribute)
DRIVER(cuGraphKernelNodeGetParams)
DRIVER(cuGraphKernelNodeSetAttribute)
DRIVER(cuGraphKernelNodeSetParams)
DRIVER_PTDS(cuGraphLaunch, ptsz, (CUgraphExec exec, CUstream stream), (exec, stream))
DRIVER(cuGraphNodeFindInClone)
DRIVER(cuGraphNodeGetContainingGraph)
DRIVER(cuGraphNodeGetDependencies)
DRIVER(cuGraphNodeGetDependentNodes)
DRIVER(cuGraphNodeGetEnabled)
DRIVER(cuGraphNodeGetLocalId)
DRIVER(cuGraphNodeGetToolsId)
DRIVER(cuGraphNodeGetType)
DRIVER(cuGraphNodeSetEnabled)
DRIVER(cuGraphReleaseUserObject)
DRIVER(cuGraphRemoveDependencies)
DRIVER(cuGraphRetainUserObject)
DRIVER_PTDS(cuGraphUpload, ptsz, (CUgraphExec exec, CUstream stream), (exec, stream))
DRIVER(cuGreenCtxCreate)
DRIVER(cuGreenCtxDestroy)
DRIVER(cuGreenCtxGetDevResource)
DRIVER(cuGreenCtxGetId)
DRIVER(cuGreenCtxRecordEvent)
DRIVER(cuGreenCtxStreamCreate)
DRIVER(cuGreenCtxWaitEvent)
DRIVER(cuInit)
DRIVER(cuKernelGetAttribute)
DRIVER(cuKernelGetFunction)
DRIVER(cuKernelGetLibrary)
DRIVER(cuKernelGetName)
DRIVER(cuKernelGetParamCount)
DRIVER(cuKernelGetParamInfo)
DRIVER(cuKernelSetAttribute)
DRIVER(cuKernelSetCacheConfig)
DRIVER_PTDS(cuLaunchCooperativeKernel, ptsz,
            (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
             unsigned bz, unsigned shared, CUstream stream, void **params),
            (f, gx, gy, gz, bx, by, bz, shared, stream, params))
DRIVER_PTDS(cuLaunchHostFunc, ptsz, (CUstream stream, CUhostFn fn, void *data), (stream, fn, data))
DRIVER_PTDS(cuLaunchKernel, ptsz,
            (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
             unsigned bz, unsigned shared, CUstream stream, void **params, void **extra),
            (f, gx, gy, gz, bx, by, bz, shared, stream, params, extra))
DRIVER_PTDS(cuLaunchKernelEx, ptsz,
            (const CUlaunchConfig *config, CUfunction f, void **params, void **extra),
            (config, f, params, extra))
DRIVER(cuLibraryEnumerateKernels)
DRIVER(cuLibraryGetGlobal)
DRIVER(cuLibraryGetKernel)
DRIVER(cuLibraryGetKernelCount)
DRIVER(cuLibraryGetManaged)
DRIVER(cuLibraryGetModule)
DRIVER(cuLibraryGetUnifiedFunction)
DRIVER(cuLibraryLoadData)
DRIVER(cuLibraryLoadFromFile)
DRIVER(cuLibraryUnload)
DRIVER(cuLinkAddData)
DRIVER(cuLinkAddFile)
DRIVER(cuLinkComplete)
DRIVER(cuLinkCreate)
DRIVER(cuLinkDestroy)
DRIVER(cuMemAddressFree)
DRIVER(cuMemAddressReserve)
DRIVER(cuMemAdvise)
DRIVER(cuMemAlloc)
DRIVER_PTDS(cuMemAllocAsync, ptsz, (CUdeviceptr * at, size_t size, CUstream stream),
            (at, size, stream))
DRIVER_PTDS(cuMemAllocFromPoolAsync, ptsz,
            (CUdeviceptr * at, size_t size, CUmemoryPool pool, CUstream stream),
            (at, size, pool, stream))
DRIVER(cuMemAllocHost)
DRIVER(cuMemAllocManaged)
DRIVER(cuMemAllocPitch)
DRIVER(cuMemCreate)
DRIVER(cuMemFree)
DRIVER_PTDS(cuMemFreeAsync, ptsz, (CUdeviceptr at, CUstream stream), (at, stream))
DRIVER(cuMemFreeHost)
DRIVER(cuMemGetAccess)
DRIVER(cuMemGetAddressRange)
DRIVER(cuMemGetAllocationGranularity)
DRIVER(cuMemGetAllocationPropertiesFromHandle)
DRIVER(cuMemGetDefaultMemPool)
DRIVER(cuMemGetInfo)
DRIVER(cuMemGetMemPool)
DRIVER(cuMemHostAlloc)
DRIVER(cuMemHostGetDevicePointer)
DRIVER(cuMemHostGetFlags)
DRIVER(cuMemHostRegister)
DRIVER(cuMemHostUnregister)
DRIVER(cuMemMap)
DRIVER(cuMemPoolCreate)
DRIVER(cuMemPoolDestroy)
DRIVER(cuMemPoolGetAccess)
DRIVER(cuMemPoolGetAttribute)
DRIVER(cuMemPoolSetAccess)
DRIVER(cuMemPoolSetAttribute)
DRIVER(cuMemPoolTrimTo)
DRIVER_PTDS(cuMemPrefetchAsync, ptsz,
            (CUdeviceptr at, size_t size, CUmemLocation where, unsigned flags, CUstream stream),
            (at, size, where, flags, stream))
DRIVER(cuMemRangeGetAttribute)
DRIVER(cuMemRangeGetAttributes)
DRIVER(cuMemRelease)
DRIVER(cuMemRetainAllocationHandle)
DRIVER(cuMemSetAccess)
DRIVER(cuMemSetMemPool)
DRIVER(cuMemUnmap)
DRIVER_PTDS(cuMemcpy, ptds, (CUdeviceptr to, CUdeviceptr from, size_t size), (to, from, size))
DRIVER_PTDS(cuMemcpy2D, ptds, (const CUDA_MEMCPY2D *copy), (copy))
DRIVER_PTDS(cuMemcpy2DAsync, ptsz, (const CUDA_MEMCPY2D *copy, CUstream stream), (copy, stream))
DRIVER_PTDS(cuMemcpy2DUnaligned, ptds, (const CUDA_MEMCPY2D *copy), (copy))
DRIVER_PTDS(cuMemcpy3D, ptds, (const CUDA_MEMCPY3D *copy), (copy))
DRIVER_PTDS(cuMemcpy3DAsync, ptsz, (const CUDA_MEMCPY3D *copy, CUstream stream), (copy, stream))
DRIVER_PTDS(cuMemcpy3DPeer, ptds, (const CUDA_MEMCPY3D_PEER *copy), (copy))
DRIVER_PTDS(cuMemcpy3DPeerAsync, ptsz, (const CUDA_MEMCPY3D_PEER *copy, CUstream stream),
            (copy, stream))
DRIVER_PTDS(cuMemcpyAsync, ptsz, (CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream),
            (to, from, size, stream))
DRIVER_PTDS(cuMemcpyAtoA, ptds, (CUarray to, size_t at, CUarray from, size_t since, size_t size),
            (to, at, from, since, size))
DRIVER_PTDS(cuMemcpyAtoD, ptds, (CUdeviceptr to, CUarray from, size_t since, size_t size),
            (to, from, since, size))
DRIVER_PTDS(cuMemcpyAtoH, ptds, (void *to, CUarray from, size_t since, size_t size),
            (to, from, since, size))
DRIVER_PTDS(cuMemcpyAtoHAsync, ptsz,
            (void *to, CUarray from, size_t since, size_t size, CUstream stream),
            (to, from, since, size, stream))
DRIVER_PTDS(cuMemcpyBatchAsync, ptsz,
            (CUdeviceptr * to, CUdeviceptr *from, size_t *sizes, size_t count,
             CUmemcpyAttributes *attributes, size_t *indices, size_t attribute_count,
             CUstream stream),
            (to, from, sizes, count, attributes, indices, attribute_count, stream))
DRIVER_PTDS(cuMemcpyDtoA, ptds, (CUarray to, size_t at, CUdeviceptr from, size_t size),
            (to, at, from, size))
DRIVER_PTDS(cuMemcpyDtoD, ptds, (CUdeviceptr to, CUdeviceptr from, size_t size), (to, from, size))
DRIVER_PTDS(cuMemcpyDtoDAsync, ptsz,
            (CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream),
            (to, from, size, stream))
DRIVER_PTDS(cuMemcpyDtoH, ptds, (void *to, CUdeviceptr from, size_t size), (to, from, size))
DRIVER_PTDS(cuMemcpyDtoHAsync, ptsz, (void *to, CUdeviceptr from, size_t size, CUstream stream),
            (to, from, size, stream))
DRIVER_PTDS(cuMemcpyHtoA, ptds, (CUarray to, size_t at, const void *from, size_t size),
            (to, at, from, size))
DRIVER_PTDS(cuMemcpyHtoAAsync, ptsz,
            (CUarray to, size_t at, const void *from, size_t size, CUstream stream),
            (to, at, from, size, stream))
DRIVER_PTDS(cuMemcpyHtoD, ptds, (CUdeviceptr to, const void *from, size_t size), (to, from, size))
DRIVER_PTDS(cuMemcpyHtoDAsync, ptsz,
            (CUdeviceptr to, const void *from, size_t size, CUstream stream),
            (to, from, size, stream))
DRIVER_PTDS(cuMemcpyPeer, ptds,
            (CUdeviceptr to, CUcontext theirs, CUdeviceptr from, CUcontext ours, size_t size),
            (to, theirs, from, ours, size))
DRIVER_PTDS(cuMemcpyPeerAsync, ptsz,
            (CUdeviceptr to, CUcontext theirs, CUdeviceptr from, CUcontext ours, size_t size,
             CUstream stream),
            (to, theirs, from, ours, size, stream))
DRIVER_PTDS(cuMemsetD16, ptds, (CUdeviceptr to, unsigned short value, size_t count),
            (to, value, count))
DRIVER_PTDS(cuMemsetD16Async, ptsz,
            (CUdeviceptr to, unsigned short value, size_t count, CUstream stream),
            (to, value, count, stream))
DRIVER_PTDS(cuMemsetD2D16, ptds,
            (CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height),
            (to, pitch, value, width, height))
DRIVER_PTDS(cuMemsetD2D16Async, ptsz,
            (CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height,
             CUstream stream),
            (to, pitch, value, width, height, stream))
DRIVER_PTDS(cuMemsetD2D32, ptds,
            (CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height),
            (to, pitch, value, width, height))
DRIVER_PTDS(cuMemsetD2D32Async, ptsz,
            (CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height,
             CUstream stream),
            (to, pitch, value, width, height, stream))
DRIVER_PTDS(cuMemsetD2D8, ptds,
            (CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height),
            (to, pitch, value, width, height))
DRIVER_PTDS(cuMemsetD2D8Async, ptsz,
            (CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height,
             CUstream stream),
            (to, pitch, value, width, height, stream))
DRIVER_PTDS(cuMemsetD32, ptds, (CUdeviceptr to, unsigned value, size_t count), (to, value, count))
DRIVER_PTDS(cuMemsetD32Async, ptsz, (CUdeviceptr to, unsigned value, size_t count, CUstream stream),
            (to, value, count, stream))
DRIVER_PTDS(cuMemsetD8, ptds, (CUdeviceptr to, unsigned char value, size_t count),
            (to, value, count))
DRIVER_PTDS(cuMemsetD8Async, ptsz,
            (CUdeviceptr to, unsigned char value, size_t count, CUstream stream),
            (to, value, count, stream))
DRIVER(cuMipmappedArrayCreate)
DRIVER(cuMipmappedArrayDestroy)
DRIVER(cuMipmappedArrayGetLevel)
DRIVER(cuModuleEnumerateFunctions)
DRIVER(cuModuleGetFunction)
DRIVER(cuModuleGetFunctionCount)
DRIVER(cuModuleGetGlobal)
DRIVER(cuModuleGetLoadingMode)
DRIVER(cuModuleLoad)
DRIVER(cuModuleLoadData)
DRIVER(cuModuleLoadDataEx)
DRIVER(cuModuleLoadFatBinary)
DRIVER(cuModuleUnload)
DRIVER(cuOccupancyAvailableDynamicSMemPerBlock)
DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessor)
DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)
DRIVER(cuOccupancyMaxActiveClusters)
DRIVER(cuOccupancyMaxPotentialBlockSize)
DRIVER(cuOccupancyMaxPotentialBlockSizeWithFlags)
DRIVER(cuOccupancyMaxPotentialClusterSize)
DRIVER(cuPointerGetAttribute)
DRIVER(cuPointerGetAttributes)
DRIVER_PTDS(cuStreamAddCallback, ptsz,
            (CUstream stream, CUstreamCallback callback, void *data, unsigned flags),
            (stream, callback, data, flags))
DRIVER_PTDS(cuStreamAttachMemAsync, ptsz,
            (CUstream stream, CUdeviceptr at, size_t size, unsigned flags),
            (stream, at, size, flags))
DRIVER_PTDS(cuStreamBatchMemOp, ptsz,
            (CUstream stream, unsigned count, CUstreamBatchMemOpParams *list, unsigned flags),
            (stream, count, list, flags))
DRIVER_PTDS(cuStreamBeginCapture, ptsz, (CUstream stream, CUstreamCaptureMode mode), (stream, mode))
DRIVER_PTDS(cuStreamBeginCaptureToGraph, ptsz,
            (CUstream stream, CUgraph graph, const CUgraphNode *after, const CUgraphEdgeData *data,
             size_t count, CUstreamCaptureMode mode),
            (stream, graph, after, data, count, mode))
DRIVER_PTDS(cuStreamCopyAttributes, ptsz, (CUstream to, CUstream from), (to, from))
DRIVER(cuStreamCreate)
DRIVER(cuStreamCreateWithPriority)
DRIVER(cuStreamDestroy)
DRIVER_PTDS(cuStreamEndCapture, ptsz, (CUstream stream, CUgraph *graph), (stream, graph))
DRIVER_PTDS(cuStreamGetAttribute, ptsz,
            (CUstream stream, CUstreamAttrID id, CUstreamAttrValue *value), (stream, id, value))
DRIVER_PTDS(cuStreamGetCaptureInfo, ptsz,
            (CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
             const CUgraphNode **nodes, const CUgraphEdgeData **data, size_t *count),
            (stream, status, id, graph, nodes, data, count))
DRIVER_PTDS(cuStreamGetCtx, ptsz, (CUstream stream, CUcontext *context), (stream, context))
DRIVER_PTDS(cuStreamGetDevResource, ptsz,
            (CUstream stream, CUdevResource *resource, CUdevResourceType type),
            (stream, resource, type))
DRIVER_PTDS(cuStreamGetDevice, ptsz, (CUstream stream, CUdevice *device), (stream, device))
DRIVER_PTDS(cuStreamGetFlags, ptsz, (CUstream stream, unsigned *flags), (stream, flags))
DRIVER(cuStreamGetGreenCtx)
DRIVER_PTDS(cuStreamGetId, ptsz, (CUstream stream, unsigned long long *id), (stream, id))
DRIVER_PTDS(cuStreamGetPriority, ptsz, (CUstream stream, int *priority), (stream, priority))
DRIVER_PTDS(cuStreamIsCapturing, ptsz, (CUstream stream, CUstreamCaptureStatus *status),
            (stream, status))
DRIVER_PTDS(cuStreamQuery, ptsz, (CUstream stream), (stream))
DRIVER_PTDS(cuStreamSetAttribute, ptsz,
            (CUstream stream, CUstreamAttrID id, const CUstreamAttrValue *value),
            (stream, id, value))
DRIVER_PTDS(cuStreamSynchronize, ptsz, (CUstream stream), (stream))
DRIVER_PTDS(cuStreamUpdateCaptureDependencies, ptsz,
            (CUstream stream, CUgraphNode *nodes, const CUgraphEdgeData *data, size_t count,
             unsigned flags),
            (stream, nodes, data, count, flags))
DRIVER_PTDS(cuStreamWaitEvent, ptsz, (CUstream stream, CUevent event, unsigned flags),
            (stream, event, flags))
DRIVER_PTDS(cuStreamWaitValue32, ptsz,
            (CUstream stream, CUdeviceptr at, cuuint32_t value, unsigned flags),
            (stream, at, value, flags))
DRIVER_PTDS(cuStreamWaitValue64, ptsz,
            (CUstream stream, CUdeviceptr at, cuuint64_t value, unsigned flags),
            (stream, at, value, flags))
DRIVER_PTDS(cuStreamWriteValue32, ptsz,
            (CUstream stream, CUdeviceptr at, cuuint32_t value, unsigned flags),
            (stream, at, value, flags))
DRIVER_PTDS(cuStreamWriteValue64, ptsz,
            (CUstream stream, CUdeviceptr at, cuuint64_t value, unsigned flags),
            (stream, at, value, flags))
DRIVER(cuThreadExchangeStreamCaptureMode)
DRIVER(cuUserObjectCreate)
DRIVER(cuUserObjectRelease)
DRIVER(cuUserObjectRetain)
