/** Manifest sets: the pods and objects of a file, URL response or applied text, with all errors of the rejected
 *  rest; how they are parsed, joined and compared, and how the last good content of a place is retained. No I/O;
 *  yields to the event loop during long texts.
 *
 *  Deviation: limits what one manifest can demand of the agent. There is no API server whose size limits would
 *  reject a pod with thousands of containers in a file; each container costs calls, log files and status
 *  entries. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { type ParsedDocument, parseDocumentsInTurns } from '#api/codec/documents.ts';
import type { Pod } from '#api/gen/core-v1.ts';
import type { Clock } from '#api/kit/clock.ts';
import type { FieldError, FieldErrorKind } from '#api/meta/field-error.ts';
import { type DecodedObject, decodeManifestDocument, defaultAndValidatePod } from '#api/schema/manifest.ts';
import { MAX_FIELD_ERRORS } from '#api/schema/validation/field-errors.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { hugePageRefErrors } from './gated-fields.ts';
import { podContentHash, validateStaticIdentity, withStaticIdentity } from './static-identity.ts';
import type {
  ConfigObject,
  ManifestOrigin,
  ManifestPlace,
  ManifestSet,
  ReadManifests,
  RejectedManifest,
  SourceObject,
  SourcePod,
} from './types.ts';

export interface ManifestReaderDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly nodeName: string;
  readonly vocabulary: Vocabulary;
  /** The feature gate ExpandedDNSConfig. Default false. */
  readonly expandedDNSConfig?: boolean;
  /** The feature gate DownwardAPIHugePages. Default true. */
  readonly downwardAPIHugePages?: boolean;
}

/** Work between two yields to the event loop. */
const TURN_MS = 5;

/** Far above the size of real pods, far below one that would delay others. */
const MOST_CONTAINERS = 500;
const MOST_VOLUMES = 2000;
/** Maximum number of reported errors per object; more than anyone reads. */
const MOST_ERRORS = 100;

export const EMPTY_SET: ManifestSet = { pods: [], objects: [], rejected: [] };

/** Returns the part of the document from which the object was decoded. */
function manifestOf(document: unknown, item: number | undefined): unknown {
  if (item === undefined || typeof document !== 'object' || document === null) return document;
  const items: unknown = Reflect.get(document, 'items');
  const list: readonly unknown[] = Array.isArray(items) ? items : [];
  return list[item];
}

/** Returns the previous pod, with its first-seen time, while nothing about it has changed. */
function knownPod(entry: SourcePod, previous: ManifestSet | undefined, vocabulary: Vocabulary): SourcePod {
  const identity = podIdentity(entry);
  const before = previous?.pods.find((candidate) => podIdentity(candidate) === identity);
  const hash = entry.pod.metadata?.annotations?.[vocabulary.configHash];
  if (before?.pod.metadata?.annotations?.[vocabulary.configHash] !== hash || before === undefined)
    return entry;
  return isDeepStrictEqual(before.origin, entry.origin) ? before : { pod: before.pod, origin: entry.origin };
}

function knownObject(entry: SourceObject, previous: ManifestSet | undefined): SourceObject {
  const identity = objectIdentity(entry);
  const before = previous?.objects.find((candidate) => objectIdentity(candidate) === identity);
  return before !== undefined && isDeepStrictEqual(before, entry) ? before : entry;
}

function configObject(decoded: Exclude<DecodedObject, { kind: 'Pod' | 'Unknown' }>): ConfigObject {
  switch (decoded.kind) {
    case 'ConfigMap':
      return { ...decoded.object, kind: decoded.kind };
    case 'Secret':
      return { ...decoded.object, kind: decoded.kind };
    case 'PersistentVolume':
      return { ...decoded.object, kind: decoded.kind };
    case 'CSIDriver':
      return { ...decoded.object, kind: decoded.kind };
    case 'PersistentVolumeClaim':
      return { ...decoded.object, kind: decoded.kind };
    case 'Endpoints':
      return { ...decoded.object, kind: decoded.kind };
    default:
      return decoded satisfies never;
  }
}

/** Converts one object of a document to a set with only this object, or its rejection. */
export function readPart(
  deps: ManifestReaderDeps,
  { decoded, manifest }: DocumentPart,
  origin: ManifestOrigin,
  previous: ManifestSet | undefined,
): ManifestSet {
  const reject = (errors: DecodedObject['errors']): ManifestSet => ({
    pods: [],
    objects: [],
    rejected: [{ origin, identity: decoded.identity, errors: boundErrors(errors) }],
  });
  if (decoded.kind === 'Unknown') return reject(decoded.errors);
  if (decoded.kind !== 'Pod') {
    if (decoded.errors.length > 0) return reject(decoded.errors);
    const entry = knownObject({ object: configObject(decoded), origin }, previous);
    return { pods: [], objects: [entry], rejected: [] };
  }
  const tooLarge = validatePodSize(decoded.object);
  if (tooLarge.length > 0) return reject([...tooLarge, ...decoded.errors]);
  const { nodeName, vocabulary, clock } = deps;
  const hash = podContentHash(manifest, { nodeName, vocabulary, origin });
  const context = { nodeName, vocabulary, origin, hash, seenMs: clock.now() };
  const named = withStaticIdentity(decoded.object, context);
  const earlier = [...decoded.errors, ...validateStaticIdentity(decoded.object)];
  const options = { vocabulary, expandedDNSConfig: deps.expandedDNSConfig === true };
  const { pod, errors } = defaultAndValidatePod(named, options, earlier);
  const disabled = deps.downwardAPIHugePages === false ? hugePageRefErrors(pod) : [];
  if (errors.length + disabled.length > 0) return reject([...errors, ...disabled]);
  return { pods: [knownPod({ pod, origin }, previous, vocabulary)], objects: [], rejected: [] };
}

/** One object of a document, decoded and in its original form. */
export interface DocumentPart {
  readonly decoded: DecodedObject;
  readonly manifest: unknown;
  /** `2`, or `2[0]` for an item of a list. */
  readonly number: string;
}

/** Returns the objects of a parsed document. An unparseable one is a single part with its errors. */
export function splitDocument(document: ParsedDocument, vocabulary: Vocabulary): readonly DocumentPart[] {
  const { number, value, errors } = document;
  const found = value === undefined ? [] : decodeManifestDocument(value, vocabulary);
  if (value === undefined || errors.length > 0) {
    const [only] = found;
    const identity = only?.identity ?? formatIdentity('Document', undefined, number);
    // A document with a duplicate key is decoded anyway, to report its other errors too.
    const later = found.length === 1 ? (only?.errors ?? []) : [];
    const decoded = { kind: 'Unknown', object: undefined, identity, errors: [...errors, ...later] } as const;
    return [{ decoded, manifest: value, number }];
  }
  return found.map((decoded) => {
    const at = decoded.item === undefined ? '' : `[${decoded.item}]`;
    return { decoded, manifest: manifestOf(value, decoded.item), number: `${number}${at}` };
  });
}

/** Returns the parser shared by all sources. */
export function createManifestReader(deps: ManifestReaderDeps): ReadManifests {
  return async (bytes, place, previous, signal) => {
    const sets: ManifestSet[] = [];
    let turnStart = performance.now();
    for (const document of await parseDocumentsInTurns(bytes, signal)) {
      for (const part of splitDocument(document, deps.vocabulary)) {
        sets.push(readPart(deps, part, { ...place, document: part.number }, previous));
      }
      if (performance.now() - turnStart < TURN_MS) continue;
      await nextTurn(undefined, { signal });
      turnStart = performance.now();
    }
    return joinSets(sets);
  };
}

/** Returns errors for lists of the pod that are too long. */
function validatePodSize({ spec }: Pod): readonly FieldError[] {
  const lists = [
    ['spec.containers', spec?.containers, MOST_CONTAINERS],
    ['spec.initContainers', spec?.initContainers, MOST_CONTAINERS],
    ['spec.ephemeralContainers', spec?.ephemeralContainers, MOST_CONTAINERS],
    ['spec.volumes', spec?.volumes, MOST_VOLUMES],
  ] as const;
  return lists.flatMap(([field, { length } = [], most]): FieldError[] =>
    length <= most
      ? []
      : [{ kind: 'FieldValueTooMany', field, badValue: length, detail: `must have at most ${most} items` }],
  );
}

/** Returns the first errors and the number of omitted ones: errors are stored, logged and sent to clients.
 *  Validation ends with the `MAX_FIELD_ERRORS`th error, so there may be more. */
function boundErrors(errors: readonly FieldError[]): readonly FieldError[] {
  if (errors.length <= MOST_ERRORS) return errors;
  const omitted = errors.length - MOST_ERRORS;
  const detail = `and ${errors.length < MAX_FIELD_ERRORS ? '' : 'at least '}${omitted} more errors`;
  return [...errors.slice(0, MOST_ERRORS), { kind: 'FieldValueInvalid', field: '', detail }];
}

/** `ConfigMap default/app`, or `PersistentVolume disk-1` without a namespace. */
export function formatIdentity(kind: string, namespace: string | undefined, name: string): string {
  return namespace === undefined || namespace === '' ? `${kind} ${name}` : `${kind} ${namespace}/${name}`;
}

export function podIdentity(entry: SourcePod): string {
  const { namespace, name = '' } = entry.pod.metadata ?? {};
  return formatIdentity('Pod', namespace, name);
}

export function objectIdentity(entry: SourceObject): string {
  const { namespace, name = '' } = entry.object.metadata ?? {};
  return formatIdentity(entry.object.kind ?? 'Object', namespace, name);
}

/** Merges all sets in their order. */
export function joinSets(sets: readonly ManifestSet[]): ManifestSet {
  return {
    pods: sets.flatMap((set) => set.pods),
    objects: sets.flatMap((set) => set.objects),
    rejected: sets.flatMap((set) => set.rejected),
  };
}

/** Returns a set with one rejected manifest, for a place that could not be read. */
export function rejectedPlace(
  place: ManifestPlace,
  detail: string,
  kind: FieldErrorKind = 'FieldValueInvalid',
): ManifestSet {
  const error: FieldError = { kind, field: '', detail };
  const rejected: RejectedManifest = {
    origin: { ...place, document: '' },
    identity: formatIdentity('Manifest', undefined, place.location),
    errors: [error],
  };
  return { ...EMPTY_SET, rejected: [rejected] };
}

/** Returns the new content; while any of it is rejected, also previous entries that it does not name.
 *  A rejected document may have contained them, and a typo must not stop a running pod. */
export function retainLastGood(last: ManifestSet | undefined, next: ManifestSet): ManifestSet {
  if (last === undefined || next.rejected.length === 0) return next;
  const pods = new Set(next.pods.map(podIdentity));
  const objects = new Set(next.objects.map(objectIdentity));
  return {
    pods: [...next.pods, ...last.pods.filter((entry) => !pods.has(podIdentity(entry)))],
    objects: [...next.objects, ...last.objects.filter((entry) => !objects.has(objectIdentity(entry)))],
    rejected: next.rejected,
  };
}

/** Reports whether both contain the same entries, by object identity of pods and objects. */
export function isSameSet(a: ManifestSet, b: ManifestSet): boolean {
  const same = <T>(left: readonly T[], right: readonly T[]): boolean =>
    left === right || (left.length === right.length && left.every((entry, index) => entry === right[index]));
  return same(a.pods, b.pods) && same(a.objects, b.objects) && same(a.rejected, b.rejected);
}
