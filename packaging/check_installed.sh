# SPDX-License-Identifier: BSD-3-Clause
# check_installed.sh: the part of tests/run_install.sh that uses CMake and modules and checks for documents. Sourced
# there, which defines $moved, $bindir, $libdir, user, runs, own and the programs' sources.
docdir=$moved$(cd "$top" && installed docdir) modules=$moved$(cd "$top" && installed modulefiledir)
[ -f "$docdir/README.md" ] && [ -f "$docdir/NEWS.md" ] && [ -f "$docdir/examples/hello.c" ] &&
	cmp "$docdir/LICENSE" "$src/LICENSE"
check "documents, examples and the licence"
find "$docdir" -name '*.md' -exec sh -c '. "$0"; dead_links "$@"' "$src/tests/links.sh" {} + >"$work/out"
[ ! -s "$work/out" ]
check "links of installed documents lead somewhere"

cat >CMakeLists.txt <<'TEXT'
cmake_minimum_required(VERSION 3.18)
project(user C CXX)
find_package(PGAS 0.1 REQUIRED COMPONENTS OpenSHMEM GASNet Fabric)
add_executable(shared hello.c)
target_link_libraries(shared OpenSHMEM::OpenSHMEM)
add_executable(inlined hello.c)
target_link_libraries(inlined PGAS::OpenSHMEM_inline)
add_executable(archived hello.c)
target_link_libraries(archived PGAS::OpenSHMEM_static)
add_executable(nodes node.c)
target_link_libraries(nodes PGAS::GASNet_seq)
add_executable(direct direct.c)
target_link_libraries(direct PGAS::direct)
file(WRITE ${CMAKE_BINARY_DIR}/oshrun "${PGAS_OSHRUN}")
TEXT
if command -v cmake >/dev/null; then
	by_cmake() { # more arguments
		rm -rf by-cmake
		user cmake -S . -B by-cmake -DCMAKE_PREFIX_PATH="$moved$prefix" "-DCMAKE_C_FLAGS=$flags" "$@"
	}
	by_cmake -DCMAKE_C_COMPILER="${cc##* }" && user cmake --build by-cmake
	check "find_package(PGAS), compiled"
	runs by-cmake/shared && own by-cmake/shared && runs by-cmake/inlined && runs by-cmake/nodes &&
		user by-cmake/direct
	check "find_package(PGAS): the programs run with the moved libraries"
	runs by-cmake/archived && user ldd by-cmake/archived && ! says 'libsma\|libpgas'
	check "find_package(PGAS): from the archives"
	[ "$(cat by-cmake/oshrun)" = "$bindir/oshrun" ]
	check "find_package(PGAS): PGAS_OSHRUN"
	sed -i 's/PGAS 0\.1/PGAS 0.2/' CMakeLists.txt
	! by_cmake && says '0\.2'
	check "find_package(PGAS 0.2): refused"
	sed -i 's/PGAS 0\.2 REQUIRED COMPONENTS.*/PGAS REQUIRED COMPONENTS Fortran)/' CMakeLists.txt
	! by_cmake && says 'no component Fortran'
	check "find_package(PGAS), a component that is not there: said"
else
	not_run "find_package(PGAS): no cmake"
fi

# as "module load" does it, with the underlying Tcl command
modulecmd=$(command -v modulecmd.tcl || ls /usr/lib/*/modulecmd.tcl \
	/usr/share/Modules/libexec/modulecmd.tcl 2>/dev/null | head -n 1)
if [ -n "$modulecmd" ] && command -v tclsh >/dev/null; then
	version=$(sed -n 's/^PACKAGE_VERSION = //p' "$top/Makefile")
	user sh -c 'eval "$(tclsh "$1" sh load "$2")"; set -e; oshcc $4 hello.c -o loaded; oshrun -n 2 ./loaded
		[ "$(command -v oshrun)" = "$3/oshrun" ]; shmem-tune --help >/dev/null
		echo "$FI_PROVIDER_PATH"' sh "$modulecmd" \
		"$modules/$version" "$bindir" "$flags" && says '^hello 2$' && says "^$providerdir\$"
	check "module load"
else
	not_run "module load: no Environment Modules"
fi
