/** Command lines for `exec -u`, `-w`, `-e` and `-d`. The runtime interface starts a command only with the user,
 *  directory and environment of the container, so a shell in the container changes them first. Pure. */

export interface ExecSettings {
  /** Name or number of the user, with an optional group: `app`, `1000:1000`. */
  readonly user: string | undefined;
  readonly workdir: string | undefined;
  /** `NAME=VALUE` */
  readonly env: readonly string[];
  readonly detach: boolean;
}

/** Positional parameters: user, directory, number of variables, variables, command. Values are never part of the
 *  script. Exit code 126 as that of a shell that cannot start a command. */
const SCRIPT = [
  'u=$1 d=$2 n=$3; shift 3',
  'while [ "$n" -gt 0 ]; do export "$1"; shift; n=$((n-1)); done',
  'if [ -n "$d" ]; then cd -- "$d" || exit 126; fi',
];
const RUN = 'exec "$@"';
const DETACH = '"$@" </dev/null >/dev/null 2>&1 &';
/** The first tool that the image has and that can change the user. */
const AS_USER = [
  'case $u in *:*) g=${u#*:};; *) g=;; esac; n=${u%%:*}',
  'if command -v chpst >/dev/null 2>&1; then exec chpst -u "$u" "$@"; fi',
  'case $(setpriv --help 2>&1) in *--reuid*) exec setpriv --reuid "$n" --regid "${g:-$n}" --clear-groups -- "$@";; esac',
  'if command -v su >/dev/null 2>&1 && [ -z "$g" ]; then exec su -s /bin/sh -c \'exec "$@"\' -- "$n" sh "$@"; fi',
  'echo "nodeagent: cannot change the user: the image has neither chpst, setpriv nor su" >&2; exit 126',
];

/** Returns the command to run in the container; unchanged without settings. */
export function wrapCommand(
  { user, workdir, env, detach }: ExecSettings,
  argv: readonly string[],
): readonly string[] {
  if (user === undefined && workdir === undefined && env.length === 0 && !detach) return argv;
  const asUser = user === undefined ? [RUN] : AS_USER;
  const script = [...SCRIPT, ...(detach ? [] : asUser)].join('\n');
  const values = [user ?? '', workdir ?? '', String(env.length), ...env];
  if (!detach) return ['sh', '-c', script, 'nodeagent-exec', ...values, ...argv];
  const inner = wrapCommand({ user, workdir: undefined, env: [], detach: false }, argv);
  return ['sh', '-c', `${script}\n${DETACH}`, 'nodeagent-exec', '', ...values.slice(1), ...inner];
}

/** Returns the first text that is not `NAME=VALUE` with a name that shells accept. */
export const invalidVariable = (env: readonly string[]): string | undefined =>
  env.find((text) => !/^[A-Za-z_]\w{0,255}=/.test(text));
