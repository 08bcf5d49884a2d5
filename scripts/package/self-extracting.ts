/** Self-contained single file: a shell script with the program behind it, which it extracts once into a
 *  cache that only its user can write. Needs sh, tar, gzip and the usual small tools. Pure. */
import { createHash } from 'node:crypto';

const PLACEHOLDER_BYTES = 12;

/** @param archive a gzip-compressed tar whose top folder has the name `folder`
 *  @param command path of the program in that folder */
export function selfExtracting(archive: Buffer, folder: string, command: string): Buffer {
  const digest = createHash('sha256').update(archive).digest('hex');
  const render = (offset: string): string => `#!/bin/sh
# ${folder}: extracts itself once, and runs.
set -eu
if [ "$(id -u)" -eq 0 ]; then base=/var/cache/\${0##*/}; else base=\${XDG_CACHE_HOME:-$HOME/.cache}/\${0##*/}; fi
target=$base/${digest.slice(0, 16)}
if [ ! -x "$target/${folder}/${command}" ]; then
  (
    umask 077
    mkdir -p "$base"
    # Of another user: it could be replaced while it is used.
    [ -O "$base" ] || { echo "$base belongs to another user" >&2; exit 1; }
    new=$(mktemp -d "$base/new.XXXXXXXX")
    trap 'rm -rf "$new"' EXIT
    tail -c +${offset} "$0" >"$new/archive"
    echo "${digest}  $new/archive" | sha256sum --check --status || { echo "$0 is damaged" >&2; exit 1; }
    umask 022
    tar -xzf "$new/archive" -C "$new" --no-same-owner
    rm "$new/archive"
    # Another process may be faster.
    mv -T "$new" "$target" 2>/dev/null || [ -x "$target/${folder}/${command}" ]
  )
fi
exec "$target/${folder}/${command}" "$@"
exit 1
`;
  const size = Buffer.byteLength(render('0'.repeat(PLACEHOLDER_BYTES)));
  const head = render(String(size + 1).padStart(PLACEHOLDER_BYTES, '0'));
  return Buffer.concat([Buffer.from(head), archive]);
}
