# SPDX-License-Identifier: Apache-2.0
# A port to submit to vcpkg. Set the repository and the checksum of the release.
vcpkg_from_github(
    OUT_SOURCE_PATH SOURCE_PATH
    REPO OWNER/levada
    REF "v${VERSION}"
    SHA512 0
)

set(isal disabled)
if("isal" IN_LIST FEATURES)
    set(isal enabled)
endif()

vcpkg_configure_meson(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS -Dpython=disabled -Dtests=disabled -Dtools=false
            -Dzlib=enabled -Dzstd=enabled -Disal=${isal}
)
vcpkg_install_meson()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/levada)
vcpkg_fixup_pkgconfig()
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
