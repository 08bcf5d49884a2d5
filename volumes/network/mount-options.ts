/** Mount options of a PersistentVolume, merged with those of its source. Pure. */
import { VolumeSetupError } from '../errors/setup-error.ts';

/** Options for mount(8), `/etc/fstab` or an init system, never for a file system or its helper program. */
const FOR_OTHERS =
  /^(?:defaults|auto|noauto|user|users|nouser|owner|group|fail|nofail|_netdev|(?:x-|X-|comment=).*)$/s;
const UNUSABLE = /[\p{Cc}\p{Zl}\p{Zp}]/u;

/** Splits options at commas; commas within double quotes belong to the option. */
function splitOptions(text: string): readonly string[] {
  return (text.match(/(?:"[^"]*"|[^,])+/g) ?? []).map((option) => option.trim());
}

/** Returns the options of a volume, without those meaningless to file systems, followed by the source's own,
 *  which win. Without duplicates.
 *  @throws VolumeSetupError for an option with a line break or another control character */
export function joinMountOptions(
  ofVolume: readonly string[],
  ofSource: readonly string[],
): readonly string[] {
  const bad = ofVolume.find((option) => UNUSABLE.test(option));
  if (bad !== undefined) throw new VolumeSetupError(`mount option ${JSON.stringify(bad)} is not allowed`);
  const readOnly = ofSource.includes('ro');
  const remaining = ofVolume
    .flatMap(splitOptions)
    .filter((option) => option !== '' && !FOR_OTHERS.test(option) && !(readOnly && option === 'rw'));
  const own = new Set(ofSource);
  return [...new Set(remaining.filter((option) => !own.has(option))), ...own];
}

/** Reports whether an option of this name exists, with or without a value. */
export function hasOption(options: readonly string[], name: string): boolean {
  return options.some((option) => option === name || option.startsWith(`${name}=`));
}

/** Returns a text that becomes a value among comma-separated options.
 *  @throws VolumeSetupError if it would be more than a value */
export function optionValue(field: string, text: string): string {
  if (text !== '' && !/[,"'\\\s]/.test(text) && !UNUSABLE.test(text)) return text;
  throw new VolumeSetupError(
    `${field} ${JSON.stringify(text)} cannot be a mount option: it must not contain spaces, commas, quotes or backslashes`,
  );
}
