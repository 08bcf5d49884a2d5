/** Selects the manifests of a directory by name. Pure. */

/** Leftovers of editors and package managers, which must never run besides the manifest that they copy.
 *  Deviation: upstream reads every name that does not begin with a dot. */
const LEFTOVER =
  /(?:~|#|\.(?:bak|orig|rej|sav|save|old|new|tmp|temp|part|swp|swo|swx|rpmnew|rpmsave|rpmorig|dpkg-[a-z]+|ucf-[a-z]+))$/i;

/** Name of the test file with which vim checks whether it may create files. */
const VIM_PROBE = /^\d{4,5}$/;

/** Reports whether a name in a manifest directory is skipped. */
export function isIgnoredName(name: string): boolean {
  return name.startsWith('.') || name.startsWith('#') || LEFTOVER.test(name) || VIM_PROBE.test(name);
}

/** Reports whether a change of this name can change the content of other names: `..data` and similar, through
 *  which the visible symbolic links lead. */
export function isIndirection(name: string): boolean {
  return name.startsWith('..');
}

/** Reports whether the name is that of a manifest, so that a directory or device with it is an error to
 *  report. */
export function isManifestName(name: string): boolean {
  return /\.(?:ya?ml|json)$/i.test(name);
}
