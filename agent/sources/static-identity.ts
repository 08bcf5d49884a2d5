/** Identity of static pods on this node, which no API server assigns.
 *  Pure: the same manifest at the same place on the same node always results in the same identity.
 *
 *  Deviation: `config.hash` is the digest of the content even when the manifest has its own uid, so that a
 *  changed manifest with a fixed uid still replaces its pod. See docs/decisions on static identity. */

import { createHash } from 'node:crypto';
import type { Pod, Toleration } from '#api/gen/core-v1.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ManifestOrigin, SourceName } from './types.ts';

export const DEFAULT_NAMESPACE = 'default';

/** Values of the `config.source` annotation that upstream tools expect. */
const SOURCE_WORDS: Readonly<Record<SourceName, string>> = {
  file: 'file',
  url: 'http',
  socket: 'socket',
  api: 'api',
};

/** Static pods tolerate every NoExecute taint, as upstream. */
const TOLERATES_EVERY_EVICTION: Toleration = { operator: 'Exists', effect: 'NoExecute' };

/** A uid becomes part of directory, cgroup and container names, so it is restricted to characters that are
 *  safe in all of them. */
const SAFE_UID = /^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,61}[A-Za-z0-9])?$/;

/** Reports whether a pod may have this UID. */
export const isSafeUID = (uid: string): boolean => SAFE_UID.test(uid);

export interface IdentityContext {
  readonly nodeName: string;
  readonly vocabulary: Vocabulary;
  readonly origin: ManifestOrigin;
  /** When this content was first seen, in ms since the epoch. */
  readonly seenMs: number;
  /** Result of `podContentHash`. */
  readonly hash: string;
}

/** Returns the name of a pod from `source`. Applied pods keep their manifest name, so that `delete` and
 *  `logs` take the name that the user knows; all others get the node name as a suffix. */
function staticPodName(name: string, source: SourceName, nodeName: string): string {
  return source === 'socket' || source === 'api' ? name : `${name}-${nodeName.toLowerCase()}`;
}

function ownAnnotations(words: Vocabulary): ReadonlySet<string> {
  return new Set([words.configSource, words.configHash, words.configSeen, words.configMirror]);
}

/** Returns the annotations without those that only the agent may set. */
function manifestAnnotations(annotations: object | undefined, words: Vocabulary): Record<string, unknown> {
  const own = ownAnnotations(words);
  return Object.fromEntries(Object.entries(annotations ?? {}).filter(([key]) => !own.has(key)));
}

function memberObject(value: unknown, key: string): object {
  const member: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
  return typeof member === 'object' && member !== null ? member : {};
}

/** Digest of the manifest's content and location. Ignores status, server-side bookkeeping and agent
 *  annotations; also ignores defaults, so that a newer agent with other defaults keeps running pods.
 *  @param manifest the pod as written, before decoding */
export function podContentHash(manifest: unknown, context: Omit<IdentityContext, 'seenMs' | 'hash'>): string {
  const { nodeName, vocabulary, origin } = context;
  const metadata = new Map<string, unknown>(Object.entries(memberObject(manifest, 'metadata')));
  const annotations = memberObject(memberObject(manifest, 'metadata'), 'annotations');
  const namespace = metadata.get('namespace');
  const content = {
    metadata: {
      name: metadata.get('name'),
      namespace:
        namespace === undefined || namespace === '' || namespace === null ? DEFAULT_NAMESPACE : namespace,
      uid: metadata.get('uid'),
      labels: metadata.get('labels'),
      annotations: manifestAnnotations(annotations, vocabulary),
      ownerReferences: metadata.get('ownerReferences'),
      finalizers: metadata.get('finalizers'),
    },
    spec: memberObject(manifest, 'spec'),
  };
  return contentHash(canonicalJson(content), `host:${nodeName}`, `${origin.source}:${origin.location}`);
}

function withToleration(tolerations: readonly Toleration[] | undefined): readonly Toleration[] {
  const others = (tolerations ?? []).filter(
    (entry) =>
      entry.key !== undefined ||
      entry.operator !== 'Exists' ||
      entry.effect !== TOLERATES_EVERY_EVICTION.effect,
  );
  return [...others, TOLERATES_EVERY_EVICTION];
}

/** Adds the static identity to the pod. The uid is that of the manifest or, without one, the digest of the
 *  content. */
export function withStaticIdentity(pod: Pod, context: IdentityContext): Pod {
  const { nodeName, vocabulary, origin, seenMs, hash } = context;
  const { selfLink: _selfLink, deletionTimestamp: _deletedAt, ...metadata } = pod.metadata ?? {};
  const own = ownAnnotations(vocabulary);
  const annotations = Object.entries(metadata.annotations ?? {}).filter(([key]) => !own.has(key));
  const { name = '', namespace = '', uid = '' } = metadata;
  return {
    ...pod,
    metadata: {
      ...metadata,
      ...(name === '' ? {} : { name: staticPodName(name, origin.source, nodeName) }),
      namespace: namespace === '' ? DEFAULT_NAMESPACE : namespace,
      uid: uid === '' ? hash : uid,
      annotations: {
        ...Object.fromEntries(annotations),
        [vocabulary.configSource]: SOURCE_WORDS[origin.source],
        [vocabulary.configHash]: hash,
        [vocabulary.configSeen]: new Date(seenMs).toISOString(),
      },
    },
    ...(pod.spec === undefined
      ? {}
      : { spec: { ...pod.spec, nodeName, tolerations: withToleration(pod.spec.tolerations) } }),
    status: { phase: 'Pending' },
  };
}

/** Returns errors for identity fields that a manifest must not set. */
export function validateStaticIdentity(pod: Pod): readonly FieldError[] {
  const { uid = '' } = pod.metadata ?? {};
  if (uid === '' || SAFE_UID.test(uid)) return [];
  return [
    {
      kind: 'FieldValueInvalid',
      field: 'metadata.uid',
      badValue: uid,
      detail: 'must be at most 63 letters, digits, "-" or ".", beginning and ending with a letter or digit',
    },
  ];
}

/** Returns JSON with sorted keys; `undefined` members are omitted, as in JSON.stringify. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item: unknown) => canonicalJson(item ?? null)).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
  return `{${members.join(',')}}`;
}

/** Returns 32 hexadecimal digits over the parts, each terminated so that moving text between them changes the
 *  digest.
 *  MD5 as upstream: the digest identifies content, it does not protect it. */
export function contentHash(...parts: readonly string[]): string {
  const hash = createHash('md5');
  for (const part of parts) hash.update(`${part.length}:`).update(part);
  return hash.digest('hex');
}
