/** The bytes of one file, URL answer or applied text to pods and objects ready to use, and to everything that is
 *  wrong with the rest. No I/O; long texts are read in turns, so that the event loop never waits. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { type ParsedDocument, parseDocumentsInTurns } from '#api/codec/documents.ts';
import type { Clock } from '#api/kit/clock.ts';
import { type DecodedObject, decodeManifestDocument, defaultAndValidatePod } from '#api/schema/manifest.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { joinSets } from './keep-good.ts';
import { formatIdentity, podIdentity } from './merge.ts';
import { podContentHash, validateStaticIdentity, withStaticIdentity } from './static-identity.ts';
import type {
  ConfigObject,
  ManifestOrigin,
  ManifestPlace,
  ManifestSet,
  ReadManifests,
  SourceObject,
  SourcePod,
} from './types.ts';

export interface ManifestReaderDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly nodeName: string;
  readonly vocabulary: Vocabulary;
}

/** Work between two turns of the event loop. */
const TURN_MS = 5;

/** The part of the document that the decoded object came from. */
function manifestOf(document: unknown, item: number | undefined): unknown {
  if (item === undefined || typeof document !== 'object' || document === null) return document;
  const items: unknown = Reflect.get(document, 'items');
  const list: readonly unknown[] = Array.isArray(items) ? items : [];
  return list[item];
}

/** The pod of before, with the time it was seen first, as long as nothing about it changed. */
function knownPod(entry: SourcePod, previous: ManifestSet | undefined, words: Vocabulary): SourcePod {
  const identity = podIdentity(entry);
  const before = previous?.pods.find((candidate) => podIdentity(candidate) === identity);
  const hash = entry.pod.metadata?.annotations?.[words.configHash];
  if (before?.pod.metadata?.annotations?.[words.configHash] !== hash || before === undefined) return entry;
  return isDeepStrictEqual(before.origin, entry.origin) ? before : { pod: before.pod, origin: entry.origin };
}

function knownObject(entry: SourceObject, previous: ManifestSet | undefined): SourceObject {
  return previous?.objects.find((candidate) => isDeepStrictEqual(candidate, entry)) ?? entry;
}

function configObject(decoded: Exclude<DecodedObject, { kind: 'Pod' | 'Unknown' }>): ConfigObject {
  switch (decoded.kind) {
    case 'ConfigMap':
      return { ...decoded.object, kind: decoded.kind };
    case 'Secret':
      return { ...decoded.object, kind: decoded.kind };
    case 'PersistentVolume':
      return { ...decoded.object, kind: decoded.kind };
    case 'PersistentVolumeClaim':
      return { ...decoded.object, kind: decoded.kind };
    default:
      return decoded satisfies never;
  }
}

/** One decoded object to the set that holds just it, or just its rejection. */
function readObject(
  deps: ManifestReaderDeps,
  decoded: DecodedObject,
  manifest: unknown,
  origin: ManifestOrigin,
  previous: ManifestSet | undefined,
): ManifestSet {
  const reject = (errors: DecodedObject['errors']): ManifestSet => ({
    pods: [],
    objects: [],
    rejected: [{ origin, identity: decoded.identity, errors }],
  });
  if (decoded.kind === 'Unknown') return reject(decoded.errors);
  if (decoded.kind !== 'Pod') {
    if (decoded.errors.length > 0) return reject(decoded.errors);
    const entry = knownObject({ object: configObject(decoded), origin }, previous);
    return { pods: [], objects: [entry], rejected: [] };
  }
  const { nodeName, vocabulary, clock } = deps;
  const hash = podContentHash(manifest, { nodeName, vocabulary, origin });
  const context = { nodeName, vocabulary, origin, hash, seenMs: clock.now() };
  const named = withStaticIdentity(decoded.object, context);
  const earlier = [...decoded.errors, ...validateStaticIdentity(decoded.object)];
  const { pod, errors } = defaultAndValidatePod(named, { vocabulary }, earlier);
  if (errors.length > 0) return reject(errors);
  return { pods: [knownPod({ pod, origin }, previous, vocabulary)], objects: [], rejected: [] };
}

/** One parsed document, a set for each object in it. */
export function readDocument(
  deps: ManifestReaderDeps,
  document: ParsedDocument,
  place: ManifestPlace,
  previous: ManifestSet | undefined,
): readonly ManifestSet[] {
  const origin = { ...place, document: document.number };
  if (document.value === undefined || document.errors.length > 0) {
    const known = document.value === undefined ? [] : decodeManifestDocument(document.value, deps.vocabulary);
    const identity = known[0]?.identity ?? formatIdentity('Document', undefined, document.number);
    const later = known.length === 1 ? (known[0]?.errors ?? []) : [];
    return [
      { pods: [], objects: [], rejected: [{ origin, identity, errors: [...document.errors, ...later] }] },
    ];
  }
  return decodeManifestDocument(document.value, deps.vocabulary).map((decoded) => {
    const at = decoded.item === undefined ? '' : `[${decoded.item}]`;
    const manifest = manifestOf(document.value, decoded.item);
    return readObject(deps, decoded, manifest, { ...origin, document: `${document.number}${at}` }, previous);
  });
}

/** The reader that all sources share. */
export function createManifestReader(deps: ManifestReaderDeps): ReadManifests {
  return async (bytes, place, previous, signal) => {
    const sets: ManifestSet[] = [];
    let turnStart = performance.now();
    for (const document of await parseDocumentsInTurns(bytes, signal)) {
      sets.push(...readDocument(deps, document, place, previous));
      if (performance.now() - turnStart < TURN_MS) continue;
      await nextTurn(undefined, { signal });
      turnStart = performance.now();
    }
    return joinSets(sets);
  };
}
