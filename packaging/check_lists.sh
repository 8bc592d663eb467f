# SPDX-License-Identifier: BSD-3-Clause
# check_lists.sh: the part of tests/run_install.sh that compares the file lists of the packages with the installed
# files: every file belongs to one package, and no line of a list refers to a missing file. dpkg-buildpackage and
# rpmbuild report the same, minutes later. Sourced there, which defines $moved, $src, $top, installed and check.

# the installed files, with the names of the folders instead of their paths
for kind in docdir mandir providerdir pythondir bindir pkgdatadir libexecdir libdir includedir modulefiledir; do
	printf '%s %s\n' "$(cd "$top" && installed $kind)" $kind
done | awk '{ print length($1), $0 }' | sort -rn >"$work/folders" # the longest first: they lie in one another
(cd "$moved" && find . ! -type d) | awk -v folders="$work/folders" '
	BEGIN { while ((getline line <folders) > 0) { split(line, f, " "); place[++n] = f[2]; name[n] = f[3] } }
	{
		file = substr($0, 2)
		for (i = 1; i <= n; i++)
			if (index(file, place[i] "/") == 1) {
				file = name[i] substr(file, length(place[i]) + 1)
				break
			}
		if (file !~ /\.la$/)
			print file
	}' | sort >"$work/files"

# held KIND PATTERNS FILES: reports files that match no pattern or several packages, and patterns that match no file
held() {
	awk '
	function regex(glob,  out) {
		out = glob
		gsub(/[.+]/, "\\\\&", out)
		gsub(/\[!/, "[^", out)
		gsub(/\*/, "[^/]*", out)
		return "^" out "(/.*)?$"
	}
	FNR == NR { glob[++n] = $2; package[n] = $1; shape[n] = regex($2); next }
	{
		who = ""
		for (i = 1; i <= n; i++)
			if ($0 ~ shape[i]) {
				used[i] = 1
				if (who != "" && who != package[i])
					print $0 " is in " who " and in " package[i]
				who = package[i]
			}
		if (who == "")
			print $0 " is in no package"
	}
	END {
		for (i = 1; i <= n; i++)
			if (!used[i])
				print package[i] ": nothing is " glob[i]
	}' "$2" "$3" >"$work/$1.said"
	# parts that this build lacks
	[ -f "$libdir/pgas/fortran/shmem.mod" ] || sed -i '/fortran/d' "$work/$1.said"
	[ -d "$drivers" ] || sed -i '/instr-count\|^pkgdatadir/d' "$work/$1.said"
	cp "$work/$1.said" "$work/out"
	[ ! -s "$work/out" ]
}

# debian/rules renames pages, adds links to /usr/bin, and omits the modulefile and the licence
rules=$src/debian/rules
suffixed=$(sed -n 's/^tools = //p' "$rules")
plain=$(sed -n 's/^\tfor tool in \([a-z].*\); do.*/\1/p' "$rules")
sed -e '/^modulefiledir/d' -e '/^docdir\/LICENSE$/d' \
	-e 's|^\(mandir/man3/[^p].*\.3\)$|\1pgas|' "$work/files" >"$work/debian.files"
for tool in $suffixed; do
	sed -i "s|^mandir/man1/$tool\.1$|mandir/man1/$tool.pgas.1|" "$work/debian.files"
	echo "/usr/bin/$tool.pgas" >>"$work/debian.files"
done
for tool in $plain; do
	echo "/usr/bin/$tool" >>"$work/debian.files"
done
for list in "$src"/debian/*.install; do
	name=${list##*/}
	sed -e "s|^|${name%.install} |" -e 's| usr/bin/| /usr/bin/|' -e 's| usr/lib/\*/pgas/bin/| bindir/|' \
		-e 's| usr/lib/\*/libfabric/| providerdir/|' -e 's| usr/lib/\*/| libdir/|' \
		-e 's| usr/lib/python3/dist-packages/| pythondir/|' \
		-e 's| usr/include/| includedir/|' -e 's| usr/share/man/| mandir/|' \
		-e 's| usr/share/doc/libpgas0| docdir|' -e 's| usr/share/pgas/| pkgdatadir/|' \
		-e 's| usr/libexec/| libexecdir/|' "$list"
done >"$work/debian.lists"
held debian "$work/debian.lists" "$work/debian.files"
check "debian/*.install: every file is in one package, and nothing is missing"
for file in "$bindir"/*; do
	case " $suffixed $plain " in *" ${file##*/} "*) ;; *) echo "${file##*/}" ;; esac
done >"$work/out"
[ ! -s "$work/out" ]
check "debian/rules: every program has its link in /usr/bin"

# the spec marks the licence by hand and lists the folders above the manual pages
sed -e '/^docdir\/LICENSE$/d' -e 's|^modulefiledir/|pkgdatadir/modulefiles/pgas/|' "$work/files" >"$work/rpm.files"
awk '/^%files/ { package = $NF; next } /^%changelog/ { exit }
	package != "" && NF && !/^%(license|dir)/ { print package, $NF }' "$src/packaging/rpm/pgas.spec" |
	sed -e 's|%{pgas_bindir}|bindir|' -e 's|%{_libdir}/pgas/man|mandir|' -e 's|%{_libdir}/libfabric|providerdir|' \
		-e 's|%{_libdir}/pgas/python|pythondir|' \
		-e 's|%{_libdir}|libdir|' -e 's|%{_includedir}|includedir|' -e 's|%{_docdir}/%{name}|docdir|' \
		-e 's|%{_datadir}/modulefiles|pkgdatadir/modulefiles|' \
		-e 's|%{_datadir}/pgas$|pkgdatadir/instr-count|' -e 's|%{_libexecdir}|libexecdir|' >"$work/rpm.lists"
held rpm "$work/rpm.lists" "$work/rpm.files"
check "pgas.spec: every file is in one package, and nothing is missing"
