/** Options of mounts: those of a PersistentVolume, and those that a source adds. Pure. */
import { VolumeSetupError } from '../setup-error.ts';

/** Options that are for mount(8), `/etc/fstab` or an init system, never for a file system or its helper program. */
const FOR_OTHERS =
  /^(?:defaults|auto|noauto|user|users|nouser|owner|group|fail|nofail|_netdev|(?:x-|X-|comment=).*)$/s;
const UNUSABLE = /[\p{Cc}\p{Zl}\p{Zp}]/u;

/** The options of one text, which commas separate; a comma within double quotes belongs to its option. */
function splitOptions(text: string): readonly string[] {
  return (text.match(/(?:"[^"]*"|[^,])+/g) ?? []).map((option) => option.trim());
}

/** Options of a volume without those that mean nothing to file systems, and the source's own behind them: where both
 *  say something, the last word is the source's. Each stands once.
 *  @throws VolumeSetupError for an option with a line break or another control character */
export function joinMountOptions(
  ofVolume: readonly string[],
  ofSource: readonly string[],
): readonly string[] {
  const bad = ofVolume.find((option) => UNUSABLE.test(option));
  if (bad !== undefined) throw new VolumeSetupError(`mount option ${JSON.stringify(bad)} can't be used`);
  const readOnly = ofSource.includes('ro');
  const kept = ofVolume
    .flatMap(splitOptions)
    .filter((option) => option !== '' && !FOR_OTHERS.test(option) && !(readOnly && option === 'rw'));
  const own = new Set(ofSource);
  return [...new Set(kept.filter((option) => !own.has(option))), ...own];
}

/** Whether an option of this name is there, with a value or without. */
export function hasOption(options: readonly string[], name: string): boolean {
  return options.some((option) => option === name || option.startsWith(`${name}=`));
}

/** A text that becomes a value among comma-separated options.
 *  @throws VolumeSetupError where it would mean more than itself */
export function optionValue(field: string, text: string): string {
  if (text !== '' && !/[,"'\\\s]/.test(text) && !UNUSABLE.test(text)) return text;
  throw new VolumeSetupError(
    `${field} ${JSON.stringify(text)} can't be a mount option: it must be text without blanks, commas, quotes and backslashes`,
  );
}
