"""The model finds by itself what really changed between the runtimes of 17 toolkits.

The expected values were computed once, by another program than this one, from the headers and libraries of the
toolkits; here they are derived anew from the committed facts. They concern `cuda_runtime_api.h` and what it includes:
the interop and profiler headers and library_types.h, which the facts have too, are left out.
"""

from __future__ import annotations

import re
from functools import cache

import pytest

from generator import changes, facts, yamlfile
from generator.changes import RecordChange
from generator.model import Api, Function, Library

BESIDE = {
    *("cuda_profiler_api.h", "cuda_gl_interop.h", "cuda_egl_interop.h", "cuda_vdpau_interop.h"),
    "library_types.h",
}

# toolkit: functions declared, symbols exported, structs and unions, enumerators
COUNTS = {
    "11.7": (285, 389, 90, 500),
    "11.8": (290, 395, 92, 516),
    "12.0": (282, 392, 92, 535),
    "12.1": (283, 393, 92, 540),
    "12.2": (288, 399, 104, 552),
    "12.3": (299, 413, 107, 562),
    "12.4": (302, 416, 109, 569),
    "12.5": (303, 418, 109, 571),
    "12.6": (303, 418, 109, 574),
    "12.8": (317, 435, 114, 617),
    "12.9": (317, 435, 114, 622),
    "13.0": (310, 422, 121, 650),
    "13.1": (331, 444, 126, 661),
    "13.2": (336, 452, 126, 684),
    "13.3": (337, 457, 127, 710),
    "13.4": (338, 458, 127, 723),
    "13.5": (338, 458, 128, 728),
}

# symbol, the toolkit that changed it, parameters before and after
SAME_SYMBOL = [
    (
        "cudaGetDriverEntryPoint",
        "12.0",
        "const char *, void **, unsigned long long",
        "const char *, void **, unsigned long long, enum cudaDriverEntryPointQueryResult *",
    ),
    (
        "cudaGraphAddDependencies",
        "13.0",
        "cudaGraph_t, const cudaGraphNode_t *, const cudaGraphNode_t *, size_t",
        "cudaGraph_t, const cudaGraphNode_t *, const cudaGraphNode_t *, const cudaGraphEdgeData *, size_t",
    ),
    (
        "cudaGraphAddNode",
        "13.0",
        "cudaGraphNode_t *, cudaGraph_t, const cudaGraphNode_t *, size_t, struct cudaGraphNodeParams *",
        (
            "cudaGraphNode_t *, cudaGraph_t, const cudaGraphNode_t *, const cudaGraphEdgeData *, size_t, "
            "struct cudaGraphNodeParams *"
        ),
    ),
    (
        "cudaGraphExecUpdate",
        "12.0",
        "cudaGraphExec_t, cudaGraph_t, cudaGraphNode_t *, enum cudaGraphExecUpdateResult *",
        "cudaGraphExec_t, cudaGraph_t, cudaGraphExecUpdateResultInfo *",
    ),
    (
        "cudaGraphGetEdges",
        "13.0",
        "cudaGraph_t, cudaGraphNode_t *, cudaGraphNode_t *, size_t *",
        "cudaGraph_t, cudaGraphNode_t *, cudaGraphNode_t *, cudaGraphEdgeData *, size_t *",
    ),
    (
        "cudaGraphInstantiate",
        "12.0",
        "cudaGraphExec_t *, cudaGraph_t, cudaGraphNode_t *, char *, size_t",
        "cudaGraphExec_t *, cudaGraph_t, unsigned long long",
    ),
    (
        "cudaGraphKernelNodeGetAttribute",
        "11.8",
        "cudaGraphNode_t, cudaKernelNodeAttrID, cudaKernelNodeAttrValue *",
        "cudaGraphNode_t, cudaLaunchAttributeID, cudaLaunchAttributeValue *",
    ),
    (
        "cudaGraphKernelNodeSetAttribute",
        "11.8",
        "cudaGraphNode_t, cudaKernelNodeAttrID, const cudaKernelNodeAttrValue *",
        "cudaGraphNode_t, cudaLaunchAttributeID, const cudaLaunchAttributeValue *",
    ),
    (
        "cudaGraphNodeGetDependencies",
        "13.0",
        "cudaGraphNode_t, cudaGraphNode_t *, size_t *",
        "cudaGraphNode_t, cudaGraphNode_t *, cudaGraphEdgeData *, size_t *",
    ),
    (
        "cudaGraphNodeGetDependentNodes",
        "13.0",
        "cudaGraphNode_t, cudaGraphNode_t *, size_t *",
        "cudaGraphNode_t, cudaGraphNode_t *, cudaGraphEdgeData *, size_t *",
    ),
    (
        "cudaGraphRemoveDependencies",
        "13.0",
        "cudaGraph_t, const cudaGraphNode_t *, const cudaGraphNode_t *, size_t",
        "cudaGraph_t, const cudaGraphNode_t *, const cudaGraphNode_t *, const cudaGraphEdgeData *, size_t",
    ),
    (
        "cudaMemAdvise",
        "13.0",
        "const void *, size_t, enum cudaMemoryAdvise, int",
        "const void *, size_t, enum cudaMemoryAdvise, struct cudaMemLocation",
    ),
    (
        "cudaMemPrefetchAsync",
        "13.0",
        "const void *, size_t, int, cudaStream_t",
        "const void *, size_t, struct cudaMemLocation, unsigned int, cudaStream_t",
    ),
    (
        "cudaMemcpy3DBatchAsync",
        "13.0",
        "size_t, struct cudaMemcpy3DBatchOp *, size_t *, unsigned long long, cudaStream_t",
        "size_t, struct cudaMemcpy3DBatchOp *, unsigned long long, cudaStream_t",
    ),
    (
        "cudaMemcpyBatchAsync",
        "13.0",
        "void **, void **, size_t *, size_t, struct cudaMemcpyAttributes *, size_t *, size_t, size_t *, cudaStream_t",
        (
            "void *const *, const void *const *, const size_t *, size_t, struct cudaMemcpyAttributes *, "
            "size_t *, size_t, cudaStream_t"
        ),
    ),
    (
        "cudaStreamGetAttribute",
        "11.8",
        "cudaStream_t, cudaStreamAttrID, cudaStreamAttrValue *",
        "cudaStream_t, cudaLaunchAttributeID, cudaLaunchAttributeValue *",
    ),
    (
        "cudaStreamGetCaptureInfo",
        "13.0",
        "cudaStream_t, enum cudaStreamCaptureStatus *, unsigned long long *",
        (
            "cudaStream_t, enum cudaStreamCaptureStatus *, unsigned long long *, cudaGraph_t *, const "
            "cudaGraphNode_t **, const cudaGraphEdgeData **, size_t *"
        ),
    ),
    (
        "cudaStreamSetAttribute",
        "11.8",
        "cudaStream_t, cudaStreamAttrID, const cudaStreamAttrValue *",
        "cudaStream_t, cudaLaunchAttributeID, const cudaLaunchAttributeValue *",
    ),
    (
        "cudaStreamUpdateCaptureDependencies",
        "13.0",
        "cudaStream_t, cudaGraphNode_t *, size_t, unsigned int",
        "cudaStream_t, cudaGraphNode_t *, const cudaGraphEdgeData *, size_t, unsigned int",
    ),
]

# record, toolkit, size before and after, fields gone, fields new, how many moved
LAYOUTS = [
    ("cudaChildGraphNodeParams", "12.9", 8, 16, "", "ownership", 0),
    ("cudaConditionalNodeParams", "13.1", 24, 32, "", "ctx", 0),
    ("cudaDevSmResource", "13.4", 16, 20, "", "localityDomainId", 0),
    ("cudaDevSmResourceGroupParams_st", "13.4", 64, 64, "", "localityDomainId", 0),
    (
        "cudaDeviceProp",
        "12.0",
        728,
        1032,
        "",
        (
            "hostRegisterSupported, sparseCudaArraySupported, hostRegisterReadOnlySupported, "
            "timelineSemaphoreInteropSupported, memoryPoolsSupported, gpuDirectRDMASupported, "
            "gpuDirectRDMAFlushWritesOptions, gpuDirectRDMAWritesOrdering, memoryPoolSupportedHandleTypes, "
            "deferredMappingCudaArraySupported, ipcEventSupported, clusterLaunch, unifiedFunctionPointers"
        ),
        0,
    ),
    (
        "cudaDeviceProp",
        "13.0",
        1032,
        1008,
        (
            "clockRate, deviceOverlap, kernelExecTimeoutEnabled, computeMode, maxTexture1DLinear, "
            "memoryClockRate, singleToDoublePrecisionPerfRatio, cooperativeMultiDeviceLaunch"
        ),
        (
            "deviceNumaConfig, deviceNumaId, mpsEnabled, hostNumaId, gpuPciDeviceID, gpuPciSubsystemID, "
            "hostNumaMultinodeIpcSupported"
        ),
        67,
    ),
    ("cudaEventRecordNodeParams", "13.4", 8, 16, "", "ctx", 0),
    ("cudaExternalMemoryBufferDesc", "13.0", 24, 88, "", "", 0),
    ("cudaExternalMemoryHandleDesc", "13.0", 40, 104, "", "", 0),
    ("cudaExternalMemoryMipmappedArrayDesc", "13.0", 64, 128, "", "", 0),
    ("cudaExternalSemaphoreHandleDesc", "13.0", 32, 96, "", "", 0),
    ("cudaExternalSemaphoreSignalNodeParamsV2", "13.4", 24, 32, "", "ctx", 0),
    ("cudaExternalSemaphoreWaitNodeParamsV2", "13.4", 24, 32, "", "ctx", 0),
    (
        "cudaFuncAttributes",
        "12.0",
        56,
        144,
        "",
        (
            "clusterDimMustBeSet, requiredClusterWidth, requiredClusterHeight, requiredClusterDepth, "
            "clusterSchedulingPolicyPreference, nonPortableClusterSizeAllowed"
        ),
        0,
    ),
    ("cudaFuncAttributes", "13.3", 144, 144, "", "deviceNodeUpdateStatus", 0),
    ("cudaFuncAttributes", "13.4", 144, 144, "", "sharedMemoryMode", 0),
    ("cudaGraphNodeParams", "12.3", 256, 256, "", "conditional", 0),
    ("cudaGraphNodeParams", "13.5", 256, 256, "", "memcpyBatch", 0),
    ("cudaHostNodeParamsV2", "13.2", 16, 24, "", "syncMode", 0),
    ("cudaHostNodeParamsV2", "13.4", 24, 32, "", "ctx", 0),
    ("cudaKernelNodeParamsV2", "13.1", 56, 64, "", "ctx", 0),
    ("cudaKernelNodeParamsV2", "13.2", 64, 72, "", "kern, cuFunc, functionType", 0),
    ("cudaLaunchAttributeValue", "12.0", 64, 64, "", "memSyncDomainMap, memSyncDomain", 0),
    ("cudaLaunchAttributeValue", "12.3", 64, 64, "", "launchCompletionEvent", 0),
    ("cudaLaunchAttributeValue", "12.4", 64, 64, "", "deviceUpdatableKernelNode", 0),
    ("cudaLaunchAttributeValue", "12.5", 64, 64, "", "sharedMemCarveout", 0),
    ("cudaLaunchAttributeValue", "12.8", 64, 64, "", "preferredClusterDim", 0),
    ("cudaLaunchAttributeValue", "13.0", 64, 64, "", "nvlinkUtilCentricScheduling", 0),
    ("cudaLaunchAttributeValue", "13.2", 64, 64, "", "portableClusterSizeMode, sharedMemoryMode", 0),
    ("cudaMemLocation", "13.4", 8, 8, "", "localized", 0),
    ("cudaMemPoolProps", "12.2", 88, 88, "", "maxSize", 0),
    ("cudaMemPoolProps", "12.6", 88, 88, "", "usage", 0),
    ("cudaMemcpyNodeParams", "13.1", 176, 176, "", "ctx", 0),
    ("cudaMemsetParamsV2", "13.1", 40, 48, "", "ctx", 0),
    ("cudaPointerAttributes", "13.0", 24, 88, "", "", 0),
    ("cudaPointerAttributes", "13.4", 88, 88, "", "localityDomainOrdinal", 0),
    ("cudaResourceDesc", "13.0", 64, 144, "", "flags", 0),
    ("cudaResourceViewDesc", "13.0", 48, 112, "", "", 0),
    ("cudaTextureDesc", "11.8", 72, 68, "seamlessCubemap", "", 0),
    ("cudaTextureDesc", "12.0", 68, 72, "", "seamlessCubemap", 0),
]

# symbol: the toolkits that export it, the toolkits whose headers declare it
SEVERAL_ABIS = {
    "cudaCreateTextureObject": ("11.7-13.5", "11.7-13.5"),
    "cudaCreateTextureObject_v2": ("11.8", "11.8"),
    "cudaEventElapsedTime": ("11.7-13.5", "11.7-13.5"),
    "cudaEventElapsedTime_v2": ("12.8-12.9", "12.8-12.9"),
    "cudaGetDeviceProperties": ("11.7-13.5", "11.7-11.8, 13.0-13.5"),
    "cudaGetDeviceProperties_v2": ("12.0-12.9", "12.0-12.9"),
    "cudaGetTextureObjectTextureDesc": ("11.7-13.5", "11.7-13.5"),
    "cudaGetTextureObjectTextureDesc_v2": ("11.8", "11.8"),
    "cudaGraphAddDependencies": ("11.7-13.5", "11.7-13.5"),
    "cudaGraphAddDependencies_v2": ("12.3-12.9", "12.3-12.9"),
    "cudaGraphAddNode": ("12.2-13.5", "12.2-13.5"),
    "cudaGraphAddNode_v2": ("12.3-12.9", "12.3-12.9"),
    "cudaGraphConditionalHandleCreate": ("12.3-13.5", "12.3-13.5"),
    "cudaGraphConditionalHandleCreate_v2": ("13.1-13.5", "13.1-13.5"),
    "cudaGraphGetEdges": ("11.7-13.5", "11.7-13.5"),
    "cudaGraphGetEdges_v2": ("12.3-12.9", "12.3-12.9"),
    "cudaGraphNodeGetDependencies": ("11.7-13.5", "11.7-13.5"),
    "cudaGraphNodeGetDependencies_v2": ("12.3-12.9", "12.3-12.9"),
    "cudaGraphNodeGetDependentNodes": ("11.7-13.5", "11.7-13.5"),
    "cudaGraphNodeGetDependentNodes_v2": ("12.3-12.9", "12.3-12.9"),
    "cudaGraphRemoveDependencies": ("11.7-13.5", "11.7-13.5"),
    "cudaGraphRemoveDependencies_v2": ("12.3-12.9", "12.3-12.9"),
    "cudaLaunchHostFunc": ("11.7-13.5", "11.7-13.5"),
    "cudaLaunchHostFunc_v2": ("13.2-13.5", "13.2-13.5"),
    "cudaMemAdvise": ("11.7-13.5", "11.7-13.5"),
    "cudaMemAdvise_v2": ("12.2-12.9", "12.2-12.9"),
    "cudaMemPrefetchAsync": ("11.7-13.5", "11.7-13.5"),
    "cudaMemPrefetchAsync_v2": ("12.2-12.9", "12.2-12.9"),
    "cudaSignalExternalSemaphoresAsync": ("11.7-13.5", "13.0-13.5"),
    "cudaSignalExternalSemaphoresAsync_v2": ("11.7-12.9", "11.7-12.9"),
    "cudaStreamGetCaptureInfo": ("11.7-13.5", "11.7-11.8, 13.0-13.5"),
    "cudaStreamGetCaptureInfo_v2": ("11.7-12.9", "11.7-12.9"),
    "cudaStreamGetCaptureInfo_v3": ("12.3-12.9", "12.3-12.9"),
    "cudaStreamUpdateCaptureDependencies": ("11.7-13.5", "11.7-13.5"),
    "cudaStreamUpdateCaptureDependencies_v2": ("12.3-12.9", "12.3-12.9"),
    "cudaWaitExternalSemaphoresAsync": ("11.7-13.5", "13.0-13.5"),
    "cudaWaitExternalSemaphoresAsync_v2": ("11.7-12.9", "11.7-12.9"),
}

# last toolkit: names that went away after it
GONE = {
    "11.8": (
        "cudaBindSurfaceToArray cudaBindTexture cudaBindTexture2D cudaBindTextureToArray "
        "cudaBindTextureToMipmappedArray cudaGetSurfaceReference cudaGetTextureAlignmentOffset "
        "cudaGetTextureReference cudaUnbindTexture"
    ),
    "12.9": (
        "cudaLaunchCooperativeKernelMultiDevice cudaSetDoubleForDevice cudaSetDoubleForHost cudaThreadExit "
        "cudaThreadGetCacheConfig cudaThreadGetLimit cudaThreadSetCacheConfig cudaThreadSetLimit "
        "cudaThreadSynchronize"
    ),
}

# toolkit: symbols that its headers declare and the toolkit before does not
NEW = {
    "11.8": (
        "cudaCreateTextureObject_v2 cudaGetTextureObjectTextureDesc_v2 cudaLaunchKernelExC "
        "cudaOccupancyMaxActiveClusters cudaOccupancyMaxPotentialClusterSize"
    ),
    "12.0": (
        "cudaGetDeviceProperties_v2 cudaGraphExecGetFlags cudaGraphInstantiateWithParams cudaInitDevice cudaStreamGetId"
    ),
    "12.1": ("cudaGetKernel"),
    "12.2": (
        "cudaGraphAddNode cudaGraphExecNodeSetParams cudaGraphNodeSetParams cudaMemAdvise_v2 cudaMemPrefetchAsync_v2"
    ),
    "12.3": (
        "cudaFuncGetName cudaGraphAddDependencies_v2 cudaGraphAddNode_v2 cudaGraphConditionalHandleCreate "
        "cudaGraphGetEdges_v2 cudaGraphNodeGetDependencies_v2 cudaGraphNodeGetDependentNodes_v2 "
        "cudaGraphRemoveDependencies_v2 cudaStreamBeginCaptureToGraph cudaStreamGetCaptureInfo_v3 "
        "cudaStreamUpdateCaptureDependencies_v2"
    ),
    "12.4": ("cudaDeviceRegisterAsyncNotification cudaDeviceUnregisterAsyncNotification cudaFuncGetParamInfo"),
    "12.5": ("cudaGetDriverEntryPointByVersion"),
    "12.6": "",
    "12.8": (
        "cudaEventElapsedTime_v2 cudaKernelSetAttributeForDevice cudaLibraryEnumerateKernels "
        "cudaLibraryGetGlobal cudaLibraryGetKernel cudaLibraryGetKernelCount cudaLibraryGetManaged "
        "cudaLibraryGetUnifiedFunction cudaLibraryLoadData cudaLibraryLoadFromFile cudaLibraryUnload "
        "cudaMemcpy3DBatchAsync cudaMemcpyBatchAsync cudaStreamGetDevice"
    ),
    "12.9": "",
    "13.0": (
        "cudaDeviceGetHostAtomicCapabilities cudaDeviceGetP2PAtomicCapabilities cudaGetDeviceProperties "
        "cudaLogsCurrent cudaLogsDumpToFile cudaLogsDumpToMemory cudaLogsRegisterCallback "
        "cudaLogsUnregisterCallback cudaMemDiscardAndPrefetchBatchAsync cudaMemDiscardBatchAsync "
        "cudaMemGetDefaultMemPool cudaMemGetMemPool cudaMemPrefetchBatchAsync cudaMemSetMemPool "
        "cudaSignalExternalSemaphoresAsync cudaStreamGetCaptureInfo cudaWaitExternalSemaphoresAsync"
    ),
    "13.1": (
        "cudaDevResourceGenerateDesc cudaDevSmResourceSplit cudaDevSmResourceSplitByCount "
        "cudaDeviceGetDevResource cudaDeviceGetExecutionCtx cudaExecutionCtxDestroy "
        "cudaExecutionCtxGetDevResource cudaExecutionCtxGetDevice cudaExecutionCtxGetId "
        "cudaExecutionCtxRecordEvent cudaExecutionCtxStreamCreate cudaExecutionCtxSynchronize "
        "cudaExecutionCtxWaitEvent cudaGraphConditionalHandleCreate_v2 cudaGraphExecGetId cudaGraphGetId "
        "cudaGraphNodeGetContainingGraph cudaGraphNodeGetLocalId cudaGraphNodeGetToolsId cudaGreenCtxCreate "
        "cudaStreamGetDevResource"
    ),
    "13.2": (
        "cudaFuncGetParamCount cudaGraphNodeGetParams cudaLaunchHostFunc_v2 cudaMemcpy3DWithAttributesAsync "
        "cudaMemcpyWithAttributesAsync"
    ),
    "13.3": ("cudaStreamBeginRecaptureToGraph"),
    "13.4": ("cudaMemGetLocationInfo"),
    "13.5": "",
}


@cache
def cudart() -> Library:
    return Library("cudart", facts.read_all(yamlfile.SPEC / "facts" / "cudart"))


def functions(api: Api) -> list[Function]:
    return [function for function in api.functions.values() if function.header not in BESIDE]


def enumerators(api: Api) -> set[str]:
    return {name for enum in api.enums.values() if enum.header not in BESIDE for name in enum.values}


def declared(api: Api) -> set[str]:
    """The symbols that the header's names stand for: `cudaGetDeviceProperties` of 12.x declares `…_v2`."""
    return {function.symbol for function in functions(api)}


def spans(toolkits: list[str]) -> str:
    """Toolkits as ranges: "11.7-11.8, 13.0-13.5"."""
    order = [api.toolkit for api in cudart().apis]
    runs: list[list[str]] = []
    for toolkit in toolkits:
        if runs and order.index(runs[-1][-1]) + 1 == order.index(toolkit):
            runs[-1].append(toolkit)
        else:
            runs.append([toolkit])
    return ", ".join(run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def test_every_known_toolkit_has_facts() -> None:
    known = [api.toolkit for api in cudart().apis]
    assert known[: len(COUNTS)] == list(COUNTS), "facts of a toolkit are missing"


@pytest.mark.parametrize("toolkit", COUNTS)
def test_counts(toolkit: str) -> None:
    api = cudart().api(toolkit)
    records = [record for record in api.records.values() if record.header not in BESIDE]
    assert (len(functions(api)), len(api.symbols), len(records), len(enumerators(api))) == COUNTS[toolkit]


def apis() -> list[Api]:
    """Those that the tables speak of: a toolkit added later has its own changes, and these stay true."""
    return [cudart().api(toolkit) for toolkit in COUNTS]


def test_same_symbol_different_signature() -> None:
    found: list[tuple[str, str, str, str]] = []
    last: dict[str, Function] = {}
    for api in apis():
        for function in functions(api):
            before = last.get(function.symbol)
            if before is not None and before.signature != function.signature:
                found.append((function.symbol, api.toolkit, ", ".join(before.signature), ", ".join(function.signature)))
            last[function.symbol] = function
    assert sorted(found) == sorted(SAME_SYMBOL)


def test_the_diff_between_neighbours_marks_each_of_them() -> None:
    """As the same symbol with another signature, or, behind a renaming in between, as exported but not declared."""
    silent = set()
    for before, after in zip(apis(), apis()[1:], strict=False):
        compared = changes.compare("cudart", before, after)
        silent |= {(pair.before.symbol, after.toolkit) for pair in compared.signatures if pair.silent}
        silent |= {(symbol, after.toolkit) for symbol in compared.uncovered if symbol == "cudaStreamGetCaptureInfo"}
    assert silent == {(symbol, toolkit) for symbol, toolkit, _, _ in SAME_SYMBOL}


def layout_changes() -> list[tuple[str, RecordChange]]:
    found = []
    for before, after in zip(apis(), apis()[1:], strict=False):
        compared = changes.compare("cudart", before, after)
        found += [(after.toolkit, change) for change in compared.records if change.after.header not in BESIDE]
    return found


def test_struct_layouts_that_change() -> None:
    found = [
        (c.name, toolkit, c.before.size, c.after.size, ", ".join(c.gone), ", ".join(c.new), len(c.moved))
        for toolkit, c in layout_changes()
    ]
    assert sorted(found) == sorted(LAYOUTS)


def test_no_named_field_ever_changed_its_type() -> None:
    assert [(toolkit, change.name) for toolkit, change in layout_changes() if change.retyped] == []


def test_only_device_properties_move_fields_against_the_newest() -> None:
    """Every other changed record keeps its named fields where they are: it appends, or carves out of reserved space."""
    newest = cudart().api(list(COUNTS)[-1])
    moved, gone = set(), set()
    for api in apis():
        for name in api.records.keys() & newest.records.keys():
            change = changes.record_change(api.records[name], newest.records[name])
            if change is not None and change.moved:
                moved.add((name, api.toolkit))
            if change is not None and change.gone:
                gone.add((name, api.toolkit))
    older = {("cudaDeviceProp", toolkit) for toolkit in COUNTS if toolkit.startswith(("11.", "12."))}
    assert moved == older
    assert gone == older


def test_names_that_carry_several_abis() -> None:
    exported = {symbol for api in apis() for symbol in api.symbols}
    versioned = {symbol for symbol in exported if re.fullmatch(r"cuda\w+_v\d+", symbol)}
    family = versioned | {re.sub(r"_v\d+$", "", symbol) for symbol in versioned}
    found = {
        symbol: (
            spans([api.toolkit for api in apis() if symbol in api.symbols]),
            spans([api.toolkit for api in apis() if symbol in declared(api)]),
        )
        for symbol in family
    }
    assert found == SEVERAL_ABIS


def test_names_that_went_away() -> None:
    newest = declared(apis()[-1])
    gone: dict[str, list[str]] = {}
    for symbol in sorted(set().union(*map(declared, apis())) - newest):
        if not re.search(r"_v\d+$", symbol):
            last = [api.toolkit for api in apis() if symbol in declared(api)][-1]
            gone.setdefault(last, []).append(symbol)
    assert {toolkit: " ".join(names) for toolkit, names in gone.items()} == GONE


def test_new_names_by_toolkit() -> None:
    pairs = zip(apis(), apis()[1:], strict=False)
    assert {after.toolkit: " ".join(sorted(declared(after) - declared(before))) for before, after in pairs} == NEW


def test_declared_names_over_all_toolkits() -> None:
    everywhere = set.intersection(*map(declared, apis()))
    assert (len(set().union(*map(declared, apis()))), len(everywhere)) == (373, 262)


def test_enumerators_never_change_their_value() -> None:
    sentinels = set()
    for before, after in zip(apis(), apis()[1:], strict=False):
        sentinels |= {pair.name for pair in changes.compare("cudart", before, after).enumerators}
    assert sentinels == {"cudaDevAttrMax", "cudaFuncAttributeMax", "cudaGraphNodeTypeCount"}
    oldest, newest = enumerators(apis()[0]), enumerators(apis()[-1])
    assert len(newest - oldest) == 238


def test_exports_that_no_header_declares() -> None:
    """The trap: 12.x exports the 11 layouts and signatures under the bare names."""
    api = cudart().api("12.4")
    hidden = {"cudaGetDeviceProperties", "cudaStreamGetCaptureInfo"}
    hidden |= {"cudaSignalExternalSemaphoresAsync", "cudaWaitExternalSemaphoresAsync"}
    assert hidden <= api.symbols.keys()
    assert not hidden & declared(api)


def test_sonames() -> None:
    assert {api.toolkit: api.soname for api in apis()} == {
        toolkit: "libcudart.so.11.0" if toolkit.startswith("11.") else f"libcudart.so.{toolkit.split('.')[0]}"
        for toolkit in COUNTS
    }
