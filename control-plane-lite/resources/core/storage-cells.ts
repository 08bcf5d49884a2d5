/** Table cells of volumes and claims. Source: upstream's printers. */
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ApiObject } from '../contract.ts';

const MODE_WORDS: readonly (readonly [mode: string, word: string])[] = [
  ['ReadWriteOnce', 'RWO'],
  ['ReadOnlyMany', 'ROX'],
  ['ReadWriteMany', 'RWX'],
  ['ReadWriteOncePod', 'RWOP'],
];

/** `RWO,RWX` */
export const accessModeText = (modes: readonly string[] = []): string =>
  MODE_WORDS.filter(([mode]) => modes.includes(mode))
    .map(([, word]) => word)
    .join(',');

/** Annotation that named the storage class before the field did. */
export const storageClassAnnotation = ({ domain }: Vocabulary): string =>
  `volume.beta.${domain}/storage-class`;

/** The storage class of a volume or claim, wherever it is named. */
export function storageClassOf(
  { metadata }: ApiObject,
  spec: { readonly storageClassName?: string } | undefined,
  vocabulary: Vocabulary,
): string {
  return metadata.annotations?.[storageClassAnnotation(vocabulary)] ?? spec?.storageClassName ?? '';
}

/** The phase, or that the object is being deleted. */
export const phaseOf = ({ metadata }: ApiObject, phase: string | undefined): string =>
  metadata.deletionTimestamp === undefined ? (phase ?? '') : 'Terminating';
