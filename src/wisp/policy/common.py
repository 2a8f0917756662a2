"""What common development programs may be asked to do in a project: tables only, for `policy.everyday`.

Each line is `heads | operands | options`.

- heads: programs, with their subcommand where they have any, separated by commas.
- operands: `none`, `paths` (anything inside the workspace), `files` (the same, and names that are protected
  against writing, because the program only reads or stages them), `tasks` (plain names the project defines,
  none of which says that it leaves the workspace), or a regular expression in full.
- options: `-abc` three letters, `-k=` a letter with a value, `--name`, `--name=` with a value, `--name=a|b` with
  one of these values (a regular expression), `--name=*` with free text that is never a path.
  `+X` after them says what may follow `--`: `+paths`, or `+args` for arguments of the project's own program;
  `+passed` where these may also follow the first operand.

Left out on purpose: whatever reads its configuration or plug-ins from a named place, takes code as an argument,
runs a named program, fetches, sends, publishes or installs, opens an editor or a prompt, or throws away
what git does not have (`reset --hard`, `clean`, `restore`, `checkout PATH`, `branch -D`, `stash drop`).
"""

from __future__ import annotations

_REF = r"[A-Za-z0-9_][A-Za-z0-9_./@{}~^+-]*"
_LOG = (
    "-0pzuqirmcwbRs -n= -U= -S=* -G=* -L=* --oneline --stat --graph --all --decorate --patch --summary --name-only "
    "--name-status --numstat --shortstat --no-merges --merges --first-parent --reverse --follow --cached --staged "
    "--check --word-diff --ignore-all-space --ignore-space-change --no-color --color --abbrev-commit --no-patch "
    "--max-count= --since=* --until=* --after=* --before=* --author=* --grep=* --format=* --pretty=* --date=* "
    "--diff-filter= --unified= --no-index --exit-code --quiet --branches --tags --remotes --left-right "
    "--cherry-pick --merge-base --relative --minimal --histogram --patience --no-renames --find-renames --root "
    "--topo-order --date-order --no-ext-diff --no-textconv --color= --decorate= --word-diff= --stat= +paths"
)
_GIT = f"""
git status | files | -sbuz --short --branch --porcelain --porcelain= --long --ignored --untracked-files= -u= +paths
git log, git show, git diff, git shortlog, git whatchanged | files | {_LOG}
git rev-list, git rev-parse, git describe, git merge-base, git name-rev | files | -q --short --short= --verify --abbrev-ref --show-toplevel --is-inside-work-tree --show-current --tags --always --long --dirty --all --count --abbrev= --match= --max-count= -n= --is-ancestor --name-only
git ls-files, git ls-tree | files | -rzmodcst --name-only --others --modified --deleted --cached --exclude-standard --full-name +paths
git blame, git annotate | files | -sweltfnMC -L= +paths
git grep | files | -inlwEFGPcqvzhLI -e=* -A= -B= -C= --line-number --count --name-only --ignore-case --word-regexp --cached --untracked +paths
git branch | {_REF} | -avrl -u= --set-upstream-to= --all --list --remotes --verbose --show-current --merged --no-merged --contains --sort= --format=* -d -m --move --delete
git tag | {_REF} | -ln --list --sort= -a -m=* --contains
git add | files | -AuvnpN --all --update --verbose --dry-run --intent-to-add +paths
git commit | files | -avqs -m=* --message=* --all --verbose --quiet --signoff --amend --no-edit --allow-empty --fixup= --dry-run --no-gpg-sign +paths
git checkout -b | {_REF} | -qt --quiet --track --no-track
git checkout | {_REF} | -q --quiet --track -t
git switch | {_REF} | -q -c= --create= --quiet --detach
git restore --staged, git restore -S | files | -q --quiet +paths
git reset | files | -q --soft --mixed --quiet +paths
git stash | none | -ukq -m=* --include-untracked --keep-index --quiet
git stash push, git stash save | files | -ukq -m=* --include-untracked --keep-index --message=* --quiet +paths
git stash list, git stash show, git stash pop, git stash apply | stash@\\{{[0-9]+\\}} | -pq --index --stat --patch --quiet
git merge | {_REF} | -nq --ff-only --no-ff --no-edit --squash --no-commit --abort --continue --quiet --stat --no-stat -m=*
git rebase | {_REF} | -q --continue --abort --skip --quit --quiet --onto= --autostash --no-autostash
git cherry-pick, git revert | {_REF} | -xn --no-edit --no-commit --continue --abort --skip --quit
git mv, git rm | paths | -nqrv --cached --dry-run --quiet +paths
git config --get | user\\.(name|email)|remote\\.[A-Za-z0-9_-]+\\.url|branch\\.[A-Za-z0-9_/-]+\\.(remote|merge)|init\\.defaultbranch |
git remote | none | -v --verbose
git init | none | -q --quiet -b= --initial-branch=
git worktree list, git reflog, git count-objects, git version | none |
git check-ignore | files | -vqn --verbose
git cherry, git range-diff, git diff-tree, git show-ref, git for-each-ref | {_REF} | -v -r --heads --tags --name-only --no-commit-id --format=* --sort=
git help | [a-z-]+ |
"""

_PYTEST = (
    "-vqsxlfh -k=* -m=* -W=[a-z]+(::[A-Za-z]+)? --pyargs -r= -n= -p=no:[a-z_.]+ --tb= --lf --ff --sw --nf --co --collect-only --last-failed --failed-first "
    "--stepwise --exitfirst --maxfail= --durations= --verbose --quiet --no-header --no-summary --color= --capture= "
    "--cov --cov= --cov-report= --cov-append --cov-branch --no-cov --cov-fail-under= --doctest-modules "
    "--strict-markers --strict-config --ignore= --deselect= --junitxml= --junit-xml= --disable-warnings --runslow "
    "--numprocesses= --dist= --timeout= --benchmark-skip --benchmark-only --setup-show --fixtures --markers --version "
    "--snapshot-update --reruns= --asyncio-mode= --showlocals --full-trace --random-order --exitfirst +paths"
)
_PYTHON = f"""
pytest, py.test | paths | {_PYTEST}
@unittest, @unittest discover | paths | -vqfbc -s= -p= -t= -k= --verbose --quiet --failfast --buffer --locals +paths
tox, tox run, tox r, tox run-parallel, tox p, tox list, tox l | none | -alqvr -e= -p=auto|all|[0-9]+ -m= -f= --parallel --parallel=auto|all|[0-9]+ --skip-missing-interpreters --notest --recreate --skip-pkg-install +args
nox | none | -lr -s= -e= -k= -t= -p= --list --sessions= --session= --no-install --no-venv --reuse-existing-virtualenvs +args
coverage report, coverage html, coverage xml, coverage json, coverage combine, coverage erase, coverage lcov | paths | -miq -d= -o= --show-missing --skip-covered --skip-empty --fail-under= --include= --omit= --keep --append --directory=
black, blue | paths | -vqS -l= -t= --check --diff --color --quiet --verbose --fast --safe --line-length= --target-version= --preview --skip-string-normalization --exclude= --include= --extend-exclude= --workers= +paths
ruff check, ruff format | paths | -qvn --fix --unsafe-fixes --diff --check --select= --ignore= --extend-select= --extend-ignore= --fixable= --exclude= --extend-exclude= --output-format= --statistics --show-fixes --no-fix --no-cache --preview --quiet --line-length= --target-version= --exit-zero --add-noqa +paths
ruff rule, ruff linter, ruff version | [A-Z0-9]+ | --all --output-format=
isort | paths | -rcqvd --check --check-only --diff --profile=[a-z]+ --line-length= -l= --quiet --atomic +paths
flake8, pycodestyle, pydocstyle, pyflakes | paths | -qv -j= --select= --ignore= --extend-ignore= --max-line-length= --exclude= --statistics --count --show-source --max-complexity= --per-file-ignores= +paths
pylint | paths | -E -j= -d= -e= --errors-only --disable= --enable= --jobs= --score= --reports= --output-format=text|json|colorized|parseable --recursive= --fail-under= --ignore= +paths
mypy | paths | -v -p= -m= --strict --ignore-missing-imports --config-file= --show-error-codes --pretty --no-incremental --no-error-summary --warn-unused-ignores --follow-imports= --python-version= --platform= --namespace-packages --explicit-package-bases --exclude= --package= --module= --disallow-untyped-defs +paths
pyright, basedpyright | paths | --stats --warnings --outputjson --level= --pythonversion=
bandit, vulture, pyupgrade, autoflake, autopep8, yapf, djlint, interrogate, docformatter, doc8, refurb | paths | -rivqda -b= --recursive --in-place --check --diff --quiet --remove-all-unused-imports --remove-unused-variables --py39-plus --py310-plus --py311-plus --py312-plus --keep-percent-format --exclude=
codespell, typos | paths | -qdsw -S= -L= -I= --skip= --ignore-words= --ignore-words-list= --check-filenames --count --quiet-level= --diff
yamllint, markdownlint, markdownlint-cli2, proselint, actionlint | paths | --strict --fix --no-color
pre-commit run | tasks | -av --all-files --verbose --show-diff-on-failure --files --from-ref= --to-ref= --hook-stage= --color=
@compileall, @py_compile, @tabnanny, @doctest, @json.tool, @tokenize, @ast | paths | -qfv -o= --indent= --sort-keys --compact
@venv, virtualenv | paths | --without-pip --system-site-packages -q
pip list, pip freeze, pip show, pip check | [A-Za-z0-9_.-]+ | -vl --verbose --local --format= --not-required --exclude=
uv tree, uv version, poetry check, poetry show, poetry version, hatch version, pdm list | none | --tree --frozen --offline
sphinx-build | paths | -aEWnqvN -b=(?!linkcheck)[a-z]+ -d= -j= -t= -w= --keep-going --fail-on-warning --nitpicky
mkdocs build | none | -qvsc -d= --strict --clean --quiet --verbose --site-dir=
"""

_JEST = (
    "-ubiot -t=* -w= --updateSnapshot --coverage --ci --runInBand --verbose --silent --bail --bail= --passWithNoTests "
    "--onlyChanged --changedSince= --maxWorkers= --testNamePattern=* --testPathPattern= --testPathPatterns= "
    "--testPathIgnorePatterns= --no-coverage --detectOpenHandles --forceExit --no-cache --listTests --json --colors "
    "--coverage= --randomize --logHeapUsage +paths"
)
_RUN = "-s --silent --if-present --workspaces --quiet -w= --workspace= +args"
_NODE = f"""
npm test, npm t, npm start, npm run, npm run-script, npm run test | tasks | {_RUN} -ws
npm ls, npm list, npm explain, npm why, npm query | [@A-Za-z0-9_./-]+ | -a --all --depth= --json --prod --dev
yarn run, pnpm run, bun run, nr, pnpm -r run, yarn workspaces run | tasks | {_RUN} -r --recursive -F= --filter= +passed
pnpm test, pnpm t, yarn test, bun test | paths | -utsw -t=* --coverage --watch=false --runInBand --updateSnapshot --silent --bail +args
deno fmt, deno lint, deno check, deno test | [A-Za-z0-9_./-]+ | -Aq --check --allow-all --allow-read --no-check --coverage= --filter=*
deno task | tasks | -q +passed
pnpm list, pnpm why, yarn list, yarn why, pnpm ls | [@A-Za-z0-9_./-]+ | --depth= --json --prod --dev -r
jest | paths | {_JEST}
vitest run, vitest, vitest list | paths | -tu -t=* --run --coverage --coverage= --reporter=default|verbose|dot|json|tap|basic|junit --silent --bail= --update --passWithNoTests --no-file-parallelism --changed --typecheck
mocha, ava, uvu, tape, qunit | paths | -bvuts -g=* -t= --grep=* --bail --exit --timeout= --verbose --recursive --parallel --forbid-only --check-leaks --match=* --update-snapshots --serial --reporter=spec|dot|tap|min|nyan|json
eslint, standard, xo, oxlint, biome check, biome lint, biome format, biome ci | paths | --fix --write --unsafe --cache --ext= --max-warnings= --quiet --report-unused-disable-directives --no-error-on-unmatched-pattern -f=stylish|json|compact|unix --format=stylish|json|compact|unix --color --no-color +paths
stylelint, htmlhint, remark | paths | --fix --cache --quiet --max-warnings= --allow-empty-input
prettier | paths | -wclu --write --check --list-different --ignore-unknown --no-error-on-unmatched-pattern --cache --log-level=[a-z]+ --loglevel=[a-z]+ --single-quote --no-semi --tab-width= --print-width= +paths
tsc, vue-tsc, svelte-check, tsd | paths | -bpv -p= --noEmit --build --project= --strict --pretty --incremental --skipLibCheck --force --version --v --traceResolution --declaration --emitDeclarationOnly --noEmit= --target= --module= --jsx= --outDir=
tsup, webpack build, vite build, next build, next lint, nuxt build, astro build, astro check, ng build, ng test, ng lint, svelte-kit sync | none | --mode=development|production|none|test --watch=false --emptyOutDir --sourcemap --silent --verbose --minify
knip, depcheck, madge, size-limit, publint, attw | paths | --json --circular --strict
turbo run, turbo build, turbo test, turbo lint, lerna run, nx run, nx test, nx build, nx lint, nx run-many | tasks | --filter= --scope= --parallel --stream --all -t= --target= --projects=
"""

_CARGO = (
    "-vqjr -j= -p= -F= --release --all --workspace --all-features --no-default-features --features= --all-targets --lib --bins "
    "--bin= --examples --example= --tests --test= --benches --bench= --doc --no-run --no-fail-fast --package= --exclude= "
    "--target=[a-z0-9_]+(-[a-z0-9_]+)+ --profile= --locked --offline --frozen --jobs= --verbose --quiet --keep-going "
    "--message-format= --color= --no-deps --document-private-items --ignore-rust-version --timings"
)
_RUST = f"""
cargo build, cargo b, cargo check, cargo c, cargo doc, cargo d | none | {_CARGO}
cargo test, cargo t, cargo bench | paths | {_CARGO} +args
cargo run, cargo r | paths | {_CARGO} +passed
cargo nextest run, cargo nextest list | paths | {_CARGO} --no-capture --retries= --test-threads= +args
cargo clippy | none | {_CARGO} --fix --allow-dirty --allow-staged +lints
cargo fmt, cargo fix | paths | {_CARGO} --check --allow-dirty --allow-staged --broken-code +fmt
cargo clean, cargo tree, cargo metadata, cargo verify-project, cargo locate-project, cargo machete, cargo shear, cargo udeps | none | {_CARGO} -ide --no-default-features --format-version= --duplicates --depth= --prefix= --invert= -i= -e= --edges=
cargo insta test, cargo insta review, cargo insta accept, cargo insta reject, cargo insta pending-snapshots | none | {_CARGO} --accept --review --check --unreferenced= --test-runner=nextest|cargo-test
cargo dev, cargo xtask, cargo x | tasks | --release --check --verbose +args
rustfmt | paths | -vql --check --edition= --verbose --quiet
mdbook build, mdbook test | paths | -d= --dest-dir=
"""

_GOBUILD = "-v -x -n -a -i -race -msan -asan -cover -trimpath -tags= -p= -mod=mod|vendor|readonly -buildvcs= -covermode=[a-z]+ -coverpkg="
_GO = f"""
go build | paths | {_GOBUILD} -o= -buildmode=[a-z-]+
go test | paths | {_GOBUILD} -short -failfast -json -benchmem -fullpath -run=* -skip=* -bench=* -count= -timeout= -parallel= -cpu= -list=* -fuzz=* -fuzztime= -benchtime= -coverprofile= -shuffle= -vet=off|all -update -c -o=
go vet, go list, go fmt, go generate, go fix | paths | {_GOBUILD} -json -m -deps -test -e -f=* -l
go run | \\./[A-Za-z0-9_./-]*|[A-Za-z0-9_/-]+\\.go|\\. | -race -v -tags= +passed
go version, go mod verify, go mod graph, go mod why, go doc, go help, go clean | [A-Za-z0-9_./-]+ | -m -all -v -src -short
gofmt, goimports, gofumpt | paths | -l -w -d -s -e -local=
golangci-lint run, golangci-lint fmt, staticcheck, revive, errcheck, gotestsum, ginkgo | paths | -v -r -p --fix -fix --new --timeout= --timeout -verbose --verbose --format= -race
"""

_TARGET = "(?!.*(install|publish|upload|deploy))[A-Za-z0-9_.-]+"
_NATIVE = f"""
cmake | paths | --system-information --workflow -B= -S= -G=Ninja|Unix\\sMakefiles -N --preset= --fresh --list-presets
cmake --build | paths | -jv -j= --parallel --parallel= --target={_TARGET} -t={_TARGET} --config= --preset= --clean-first --verbose
ctest | none | -VQN -j= -R=* -E=* -L=* -C= -V --verbose --output-on-failure --rerun-failed --test-dir= --preset= --parallel= --timeout= --progress --stop-on-failure -I=
ninja | tasks | -vnd -C= -j= -k= -l= --verbose --quiet
meson setup | paths | --buildtype=[a-z]+ --wipe --reconfigure
autoreconf | none | -ifv --install --force --verbose
ar | paths |
gcc, g++, cc, c++, clang, clang++ | paths | -c -S -g -v -pedantic -pthread -shared -static -o= -I= -L= -std=[a-z0-9+]+ -fPIC -march=native -m32 -m64
meson compile, meson test, meson introspect | tasks | -v -C= -j= --verbose --suite= --list --print-errorlogs --no-rebuild --all --targets --buildoptions
clang-format | paths | -in --dry-run --Werror --style=file|LLVM|Google|Chromium|Mozilla|WebKit|Microsoft|GNU --verbose
cppcheck, cpplint, cmake-format, cmake-lint | paths | -qi --enable= --std= --quiet --error-exitcode= --inline-suppr --language= --check
zig build, zig test, zig fmt | tasks | --summary= --check
shellcheck, shfmt, bats, hadolint | paths | -xdwl -s= -i= -S= -e= -f= --severity= --shell= --exclude= --format= --tap --recursive -r -p
"""

_RUBY = """
rspec | paths | -c -f=documentation|progress|json|p|d|j -e=* -t= --format=documentation|progress|json --fail-fast --only-failures --next-failure --tag= --example=* --seed= --order= --color --backtrace -b
rubocop, standardrb | paths | -aAlDPV --autocorrect --autocorrect-all --auto-correct --fix --lint --only= --except= --format=[a-z]+ --parallel --display-cop-names -V
cucumber | paths | -t= --tags= --format=pretty|progress --dry-run
rake, rails test, rails routes, rails zeitwerk:check, rails spec, rails test:system | tasks | -TPA --tasks --all --trace -v
jekyll build, jekyll doctor, yard doc, yard stats, rdoc, srb tc, steep check, reek, brakeman | paths | --trace --future --drafts --quiet -q --incremental
bundle check, bundle list, bundle show, bundle info | [A-Za-z0-9_-]+ |
"""

_GRADLE = (
    "-sqi --info --stacktrace --full-stacktrace --quiet --offline --no-daemon --daemon --parallel --no-parallel --continue "
    "--rerun-tasks --build-cache --no-build-cache --configuration-cache --warn --console=plain|auto|rich|verbose -x= "
    "--exclude-task= --tests=* --dry-run -m --profile --warning-mode=all|none|summary|fail"
)
_GOALS = (
    "clean|validate|initialize|generate-sources|process-resources|compile|process-classes|test-compile|test|package"
    "|integration-test|verify|site|dependency:(tree|analyze|list)|spotless:(check|apply)|checkstyle:check|spotbugs:check"
    "|pmd:check|javadoc:javadoc|jacoco:report|formatter:(format|validate)|fmt:(format|check)|license:check|eclipse:eclipse"
)
_JVM = f"""
gradle, gradlew | tasks | {_GRADLE} --configuration= --dependency=
mvn, mvnw, mvnd | {_GOALS} | -q -o -B -e -X -am -amd -ntp -fae -ff -fn -U -pl= -T= -P= --quiet --offline --batch-mode --no-transfer-progress --also-make --projects= --threads= --activate-profiles= --fail-at-end --errors --version -v
sbt test, sbt compile, sbt clean, sbt scalafmtCheck, sbt scalafmtAll | none | --batch
dotnet build, dotnet test, dotnet clean, dotnet format, dotnet run | paths | --no-restore --no-build --nologo -c= --configuration= -f= --framework= --filter=* -v=[a-z]+ --verbosity=[a-z]+ --verify-no-changes --list-tests --blame +args
swift build, swift test, swift package describe | none | -v -c=debug|release --configuration=debug|release --filter=* --parallel --verbose --enable-code-coverage
detekt, scalafmt, google-java-format | paths | -Fi -F --format --check --test --replace
"""

_PHP = """
phpunit, pest, paratest, simple-phpunit | paths | -v --filter=* --group= --exclude-group= --testsuite= --coverage-text --coverage-html= --coverage-clover= --stop-on-failure --stop-on-error --testdox --no-coverage --colors --colors= --parallel --version --display-deprecations --display-warnings
phpstan, phpstan analyse, phpstan analyze, psalm | paths | -v -l= --level= --no-progress --error-format= --memory-limit= --no-cache --show-info= --threads=
php-cs-fixer fix, php-cs-fixer check, pint, phpcs, phpcbf, rector process, ecs check | paths | -vnps --dry-run --diff --test --dirty --standard=PSR[0-9]+ --fix --verbose --using-cache= --allow-risky=
composer validate, composer show, composer info, composer check-platform-reqs, composer licenses, composer run-script, composer run, composer test, composer lint, composer cs, composer cs-fix, composer phpstan, composer check, composer analyse, composer format | tasks | -vn --strict --no-check-all --tree --direct --installed -D --no-interaction
artisan test, artisan route:list, artisan list, artisan about | paths | --parallel --filter=* --testsuite= --compact --coverage --stop-on-failure
"""

_BEAM = """
mix test, mix espec | paths | --only= --exclude= --include= --trace --cover --seed= --stale --failed --max-failures= --warnings-as-errors --color --slowest= --force --partitions=
mix compile, mix format, mix clean, mix dialyzer, mix docs, mix xref, mix deps.tree, mix phx.routes, mix help, mix lint, mix check, mix deps.compile, mix assets.build, mix quality | paths | --warnings-as-errors --check-formatted --force --all-warnings --check-equivalent --dry-run --quiet --format=short|raw|github
mix credo | [A-Za-z0-9_./:-]+ | -a -A --strict --all --all-priorities --format=oneline|json|flycheck|sarif --only= --checks= --ignore= --ignore-checks= --verbose --help --read-from-stdin --mute-exit-status
rebar3 compile, rebar3 eunit, rebar3 ct, rebar3 dialyzer, rebar3 xref, rebar3 fmt, gleam test, gleam build, gleam check, gleam format | tasks | --verbose --check
stack build, stack test, stack bench, stack haddock, cabal build, cabal test, cabal check, hlint, ormolu, fourmolu, dune build, dune test, dune runtest, dune fmt, dune clean | tasks | --fast --pedantic --mode=inplace|check -i --profile= --enable-tests
flutter test, flutter analyze, dart test, dart analyze, dart format, crystal spec, crystal build, busted, luacheck, selene, stylua | paths | --check --fatal-infos --fatal-warnings --coverage --name= --release -r --set-exit-if-changed --line-length= -l=
"""

_RUNNERS = """
make, gmake | tasks | -kswnBiS -j -j= -l= -C= -f= --keep-going --silent --quiet --always-make --dry-run --just-print --print-directory --no-print-directory --output-sync --output-sync= --jobs --jobs= --directory= --file= --makefile= --trace --version
just, task, invoke, inv, doit, mage, grunt, gulp, hereby, jake, waf, scons, spin | tasks | -lv --list --summary --tasks --force --verbose -t= -v +args
mkdir | paths | -pv --parents --verbose
"""

TABLES = (_GIT, _PYTHON, _NODE, _RUST, _GO, _NATIVE, _RUBY, _JVM, _PHP, _BEAM, _RUNNERS)

WHOLE = frozenset(
    {
        "gcc",
        "g++",
        "cc",
        "c++",
        "clang",
        "clang++",
        "go",
        "gofmt",
        "goimports",
        "gofumpt",
        "mvn",
        "mvnw",
        "mvnd",
        "staticcheck",
    }
)
"""Programs whose options are whole words behind one dash, never letters in a cluster."""

SETTINGS: dict[str, str] = {
    "make": r"(?!MAKE|MFLAGS|SHELL|GNUMAKE|VPATH|LD_|DYLD_)[A-Z][A-Z0-9_]*=(yes|no|on|off|true|false|y|n|[0-9]{1,6}|debug|release|none|auto)",
    "cmake": r"-D(CMAKE_BUILD_TYPE=(Debug|Release|RelWithDebInfo|MinSizeRel)|CMAKE_EXPORT_COMPILE_COMMANDS=(ON|1)|CMAKE_C(XX)?_STANDARD=[0-9]+"
    r"|(?!CMAKE_)[A-Za-z][A-Za-z0-9_-]*=(ON|OFF|on|off|YES|NO|TRUE|FALSE|true|false|[0-9]{1,6}))",
    "gcc": r"-O[0-3sgz]?|-W(all|extra|error|pedantic|shadow|conversion|no-[a-z-]+)|-l[A-Za-z0-9_+]+|-D[A-Za-z0-9_]+(=[A-Za-z0-9_]+)?"
    r"|-[IL](?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9_./-]*|-fsanitize=[a-z,]+|-g[0-3]",
    "ar": r"-?[rcsvut]{1,6}",
    "gradle": r"-D(tests?\.[A-Za-z.]+|skipTests)=[A-Za-z0-9*@_.][A-Za-z0-9*@_. #$:-]*|-Dorg\.gradle\.(parallel|caching|daemon|configureondemand)=(true|false)"
    r"|-P(?!.*(jvm|Jvm|agent))[A-Za-z][A-Za-z0-9.]*=(true|false|[0-9]{1,6}|[A-Za-z0-9.]{1,20}(,[A-Za-z0-9.]{1,20}){0,8})",
    "mvn": r"-DskipTests(=(true|false))?|-DskipITs|-Dmaven\.test\.skip=true|-Dtest=[A-Za-z0-9*.#,_+!]+|-Dit\.test=[A-Za-z0-9*.#,_+!]+|-D[a-z]+\.skip(=true)?|-P[A-Za-z0-9!_][A-Za-z0-9!,_-]*|-T[0-9.]+C?",
}
"""Settings on the command line, as one regular expression a program: switches and numbers, never a program, a path or flags."""
for _same, _as in (
    ("gmake", "make"),
    ("gradlew", "gradle"),
    *((name, "gcc") for name in ("g++", "cc", "c++", "clang", "clang++")),
    ("mvnw", "mvn"),
    ("mvnd", "mvn"),
):
    SETTINGS[_same] = SETTINGS[_as]

_ASSIGNMENTS_WORDS = """
CI=1 CI=true CI= NO_COLOR=1 FORCE_COLOR=0 FORCE_COLOR=1 COLUMNS=80 PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
PYTHONDEVMODE=1 PYTHONHASHSEED=0 NODE_ENV=test NODE_ENV=development NODE_ENV=production BABEL_ENV=test
RUST_BACKTRACE=1 RUST_BACKTRACE=full RUST_BACKTRACE=0 RUST_LOG=debug RUST_LOG=info RUST_LOG=trace RUST_LOG=warn
CARGO_TERM_COLOR=never CGO_ENABLED=0 CGO_ENABLED=1 RAILS_ENV=test RACK_ENV=test MIX_ENV=test MIX_ENV=dev
APP_ENV=test DEBUG=1 DEBUG=0 VERBOSE=1 V=1 TZ=UTC LC_ALL=C LANG=C LC_ALL=C.UTF-8 LANG=C.UTF-8
"""
ASSIGNMENTS = frozenset(_ASSIGNMENTS_WORDS.split())
"""What may stand before a program, word for word: it switches something and names nothing."""
SWITCHES = (
    r"(TESTS?|DEBUG|VERBOSE|QUIET|SKIP|COVERAGE|VALGRIND|PROFILE|FULL|FAST|SLOW|UPDATE|USE|ENABLE|DISABLE|WITH|WITHOUT|RUN|BENCH)"
    r"(_[A-Z0-9_]+)?=(0|1|true|false|yes|no|on|off)"
)
"""The same of a project's own: a name that begins with one of these words, and nothing but on or off."""

_OUTWARD_WORDS = """
install uninstall installer publish deploy deployment release upload push login logout promote provision ship
terraform kubectl helm docker compose up down develop register destroy drop purge prune production prod staging db database
migrate migration migrations seed rollback flush wipe nuke truncate dropdb createdb resetdb reset eject sudo credentials secrets ssh scp rsync s3 aws gcloud azure
clone fetch pull update upgrade bootstrap setup download postinstall preinstall prepublish exec eval shell console repl sync mirror
"""
OUTWARD = frozenset(_OUTWARD_WORDS.split())
"""Words in the name of a task or a script that say it reaches out of the workspace, or waits for somebody."""

_INLINE_WORDS = """
--eval --exec --execute --print --command --require --import --loader --config --configuration --plugin --plugins
--load --init-hook --rcfile --rootdir --confcutdir --override-ini --output-file --shell --pager --editor --upload-pack
--prefix --global --user --system --node-options --interpreter --python --runner --script-shell --toolexec
"""
INLINE = frozenset(_INLINE_WORDS.split())
"""Options that no argument to a project's own program may be: whatever that program is, these mean code or a place."""

_NAMES_ANOTHER_WORDS = """
test time watch script info set batch split hash at more most
"""
NAMES_ANOTHER = frozenset(_NAMES_ANOTHER_WORDS.split())
"""Words that name an interpreter or a wrapper only without a folder before them: `scripts/test` is the project's."""
_SCRIPTS_WORDS = """
test tests build lint format fmt fix check typecheck type-check types tsc coverage start dev watch clean task e2e
unit integration e2e prettier eslint spec validate compile typegen codegen changelog generate-changelog
storybook stylelint test-only test-unit
"""
SCRIPTS = frozenset(_SCRIPTS_WORDS.split())
"""What `yarn NAME` and `pnpm NAME` may be: names of scripts that are no commands of theirs."""
_MODULES_WORDS = """
pytest mypy black ruff isort flake8 pylint coverage tox nox pip pre_commit codespell pyright bandit vulture
autoflake autopep8 yapf pyupgrade pycodestyle pydocstyle pyflakes mkdocs yamllint virtualenv interrogate invoke
"""
MODULES = frozenset(_MODULES_WORDS.split())
"""What `python -m` may be, besides the modules that are in the tables with a `@`."""
WRAPPERS: dict[str, str] = {
    "bundle exec": "",
    "poetry run": "",
    "pdm run": "",
    "pipenv run": "",
    "rye run": "",
    "hatch run": "",
    "pixi run": "",
    "pnpm exec": "",
    "npx --no-install": "",
    "npx --no": "",
    "uv run": "--frozen --locked --offline --no-sync --all-extras --all-groups --dev --no-dev --group= --only-group= --extra= -q",
    "timeout": "-k= -s=KILL|TERM|INT|SIGKILL|SIGTERM --kill-after= --foreground",
}
"""Programs that only start another of the list, with their options."""
OWN_SCRIPTS = ("pdm run", "hatch run", "pixi run", "rye run")
"""Of these, those by which a project gives names to commands of its own."""
