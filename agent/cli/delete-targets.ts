/** Which objects `delete` is to remove. */
import { parseDocumentsInTurns } from '#api/codec/documents.ts';
import { decodeManifestDocument } from '#api/schema/manifest.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { parseKindWord } from '../sources/applied.ts';
import { UsageError } from './errors.ts';
import { DEFAULT_NAMESPACE } from './find-pod.ts';
import type { ManifestText } from './manifest-files.ts';

export interface ObjectName {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

export interface ManifestTargets {
  readonly targets: readonly ObjectName[];
  /** Documents that name no object, as `web.yaml, document 2`. */
  readonly nameless: readonly string[];
}

/** `pod web api`, or `pod/web configmap/app`. @throws UsageError */
export function namedTargets(
  words: readonly string[],
  namespace: string = DEFAULT_NAMESPACE,
): readonly ObjectName[] {
  const [first = '', ...names] = words;
  if (first.includes('/')) {
    return words.map((text) => {
      const [type = '', name = '', ...more] = text.split('/');
      if (name === '' || more.length > 0) throw new UsageError(`${JSON.stringify(text)} must be TYPE/NAME`);
      return { kind: kindOf(type), namespace, name };
    });
  }
  if (names.length === 0) throw new UsageError('delete needs a TYPE and a NAME, or -f FILE');
  return names.map((name) => ({ kind: kindOf(first), namespace, name }));
}

function kindOf(word: string): string {
  const kind = parseKindWord(word);
  if (kind !== undefined) return kind;
  throw new UsageError(
    `${JSON.stringify(word)} is not a type: pod, configmap, secret, persistentvolume, persistentvolumeclaim`,
  );
}

/** The objects of a manifest, whether they are valid or not.
 *  @throws the signal's reason when it fires */
export async function manifestTargets(
  { name: file, text }: ManifestText,
  signal: AbortSignal,
): Promise<ManifestTargets> {
  const targets: ObjectName[] = [];
  const nameless: string[] = [];
  for (const { number, value } of await parseDocumentsInTurns(text, signal)) {
    // Only names are read, and they are the same in every vocabulary.
    for (const { kind, object } of decodeManifestDocument(value, VOCABULARIES.plat)) {
      const { name = '', namespace = DEFAULT_NAMESPACE } = object?.metadata ?? {};
      if (kind === 'Unknown' || name === '') nameless.push(`${file}, document ${number}`);
      else targets.push({ kind, namespace, name });
    }
  }
  return { targets, nameless };
}
