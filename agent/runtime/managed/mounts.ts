/** Mount points of this mount namespace below a directory. */

/** Returns mount points at or below the directory, deepest and latest first: the order in which to unmount.
 *  `mountinfo` is the text of `/proc/self/mountinfo`.
 *  @see https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html */
export function mountPointsUnder(mountinfo: string, folder: string): readonly string[] {
  return mountinfo
    .split('\n')
    .map((line) => unescapePath(line.split(' ')[4] ?? ''))
    .filter((point) => point === folder || point.startsWith(`${folder}/`))
    .reverse();
}

/** The kernel writes space, tab, newline and backslash as octal escapes. */
function unescapePath(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}
