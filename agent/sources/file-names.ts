/** Which names of a manifest directory are manifests. Pure. */

/** Leftovers of editors and package managers, which must never run beside the manifest they are a copy of.
 *  Deviation: upstream takes every name that doesn't begin with a dot. */
const LEFTOVER =
  /(?:~|#|\.(?:bak|orig|rej|sav|save|old|new|tmp|temp|part|swp|swo|swx|rpmnew|rpmsave|rpmorig|dpkg-[a-z]+|ucf-[a-z]+))$/i;

/** The name under which vim tries whether it may create files. */
const VIM_PROBE = /^\d{4,5}$/;

/** Whether the name in a manifest directory is left unread. */
export function isIgnoredName(name: string): boolean {
  return name.startsWith('.') || name.startsWith('#') || LEFTOVER.test(name) || VIM_PROBE.test(name);
}

/** Whether a change of this name can change what other names show: `..data` and its like, through which the
 *  visible names are symbolic links. */
export function isIndirection(name: string): boolean {
  return name.startsWith('..');
}

/** Whether the name promises a manifest, so that a directory or device under it is a mistake to report. */
export function isManifestName(name: string): boolean {
  return /\.(?:ya?ml|json)$/i.test(name);
}
