/** Selects the objects that `delete` removes. */
import { parseDocumentsInTurns } from '#api/codec/documents.ts';
import { isObject } from '#api/kit/object.ts';
import { decodeManifestDocument } from '#api/schema/manifest.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { parseKindName } from '../../sources/applied/applied.ts';
import type { LocalApi } from '../client/api-client.ts';
import { UsageError } from '../errors.ts';
import { DEFAULT_NAMESPACE } from '../listing/find-pod.ts';
import { fetchApplied } from '../manifests/applied.ts';
import { nameKey, type ObjectName } from '../manifests/objects.ts';
import type { ManifestText } from '../manifests/read.ts';
import { createSelector } from '../output/select.ts';

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
  if (names.length === 0) throw new UsageError('delete requires a TYPE and a NAME, a selector, or -f FILE');
  return names.map((name) => ({ kind: kindOf(first), namespace, name }));
}

export interface TargetSelection {
  readonly namespace: string | undefined;
  /** Undefined for all objects of the types. */
  readonly labels: string | undefined;
  readonly fields: string | undefined;
}

/** Returns the applied objects of the types `pods,configmaps` that are selected. @throws UsageError */
export async function selectedTargets(
  api: LocalApi,
  operands: readonly string[],
  { namespace, labels, fields }: TargetSelection,
  signal: AbortSignal,
): Promise<readonly ObjectName[]> {
  const [types, ...names] = operands;
  if (types === undefined || names.length > 0 || types.includes('/')) {
    throw new UsageError('a selector or --all requires types without names: delete pods -l app=web');
  }
  const kinds = types.split(',').map(kindOf);
  const selectors = new Map(kinds.map((kind) => [kind, createSelector(kind, { labels, fields })]));
  const applied = await fetchApplied(api, signal);
  const isWanted = ({ name, manifest }: (typeof applied)[number]): boolean =>
    (namespace === undefined || name.namespace === namespace || name.kind === 'PersistentVolume') &&
    selectors.get(name.kind)?.(withIdentity(name, manifest)) === true;
  const found = applied.filter(isWanted).map(({ name }) => name);
  return found.toSorted((left, right) => (nameKey(left) < nameKey(right) ? -1 : 1));
}

/** The namespace of a manifest may be implicit. */
const withIdentity = (
  { namespace, name }: ObjectName,
  manifest: Readonly<Record<string, unknown>>,
): object => ({
  ...manifest,
  metadata: { ...(isObject(manifest['metadata']) ? manifest['metadata'] : {}), namespace, name },
});

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
