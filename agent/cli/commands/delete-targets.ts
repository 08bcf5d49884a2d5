/** Selects the objects that `delete` removes. */
import { parseDocumentsInTurns } from '#api/codec/documents.ts';
import { decodeManifestDocument } from '#api/schema/manifest.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { parseKindName } from '../../sources/applied/applied.ts';
import { UsageError } from '../errors.ts';
import { DEFAULT_NAMESPACE } from '../listing/find-pod.ts';
import type { ManifestText } from './manifest-files.ts';

export interface ObjectName {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

export interface ManifestTargets {
  readonly targets: readonly ObjectName[];
  /** Documents that identify no object, as `web.yaml, document 2`. */
  readonly nameless: readonly string[];
}

/** Parses `pod web api`, or `pod/web configmap/app`. @throws UsageError */
export function namedTargets(
  operands: readonly string[],
  namespace: string = DEFAULT_NAMESPACE,
): readonly ObjectName[] {
  const [first = '', ...names] = operands;
  if (first.includes('/')) {
    return operands.map((text) => {
      const [type = '', name = '', ...more] = text.split('/');
      if (name === '' || more.length > 0) throw new UsageError(`${JSON.stringify(text)} must be TYPE/NAME`);
      return { kind: kindOf(type), namespace, name };
    });
  }
  if (names.length === 0) throw new UsageError('delete requires a TYPE and a NAME, or -f FILE');
  return names.map((name) => ({ kind: kindOf(first), namespace, name }));
}

function kindOf(type: string): string {
  const kind = parseKindName(type);
  if (kind !== undefined) return kind;
  throw new UsageError(
    `${JSON.stringify(type)} is not a resource type; known types: pod, configmap, secret, persistentvolume, persistentvolumeclaim`,
  );
}

/** Returns the objects of a manifest, valid or not.
 *  @throws the signal's reason when it fires */
export async function manifestTargets(
  { name: file, text }: ManifestText,
  signal: AbortSignal,
): Promise<ManifestTargets> {
  const targets: ObjectName[] = [];
  const nameless: string[] = [];
  for (const { number, value } of await parseDocumentsInTurns(text, signal)) {
    // Only names are read; they are the same in every vocabulary.
    for (const { kind, object } of decodeManifestDocument(value, VOCABULARIES.plat)) {
      const { name = '', namespace = DEFAULT_NAMESPACE } = object?.metadata ?? {};
      if (kind === 'Unknown' || name === '') nameless.push(`${file}, document ${number}`);
      else targets.push({ kind, namespace, name });
    }
  }
  return { targets, nameless };
}
