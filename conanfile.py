"""The recipe for Conan 2: `conan create .`, then `anycuda/<version>` with the targets of find_package(anycuda)."""

from __future__ import annotations

from pathlib import Path

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy


class Anycuda(ConanFile):  # type: ignore[misc]
    name = "anycuda"
    license = "MIT"
    description = "CUDA's API on whatever libcudart there is"
    package_type = "static-library"
    settings = "os", "arch", "compiler", "build_type"
    exports = ("VERSION",)
    exports_sources = (
        "CMakeLists.txt",
        "LICENSE",
        "VERSION",
        "cmake/*",
        "examples/*",
        "generated/include/*",
        "generated/src/*",
        "include/*",
        "src/*",
    )

    def set_version(self) -> None:
        self.version = (Path(self.recipe_folder) / "VERSION").read_text().strip()

    def layout(self) -> None:
        cmake_layout(self)

    def generate(self) -> None:
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["ANYCUDA_TOOLS"] = False
        toolchain.generate()

    def build(self) -> None:
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self) -> None:
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, f"{self.package_folder}/licenses")

    def package_info(self) -> None:
        library = self.cpp_info.components["anycuda"]
        library.libs = ["anycuda"]
        library.system_libs = ["pthread", "dl"]
        library.set_property("cmake_target_name", "anycuda::anycuda")
        library.set_property("pkg_config_name", "anycuda")
        simulator = self.cpp_info.components["sim"]
        simulator.libs = ["anycuda_sim"]
        simulator.requires = ["anycuda"]
        simulator.system_libs = ["m"]
        # Nothing names the simulator, so the linker is told to take it.
        simulator.exelinkflags = simulator.sharedlinkflags = ["-Wl,-u,acu_sim_abi"]
        simulator.set_property("cmake_target_name", "anycuda::sim")
        simulator.set_property("pkg_config_name", "anycuda-sim")
        compat = self.cpp_info.components["compat"]
        compat.requires = ["anycuda"]
        compat.includedirs = ["include/anycuda/compat"]
        compat.set_property("cmake_target_name", "anycuda::compat")
