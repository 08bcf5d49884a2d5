/** One pod of the API server as the agent runs it. Pure.
 *
 *  It has its identity from the server. Of its status only an end is kept: it tells that the pod must not be started.
 *  Annotations that tell static pods apart count for nothing here, whoever set them. */
import { isDeepStrictEqual } from 'node:util';
import type { FieldError } from '#api/meta/field-error.ts';
import { dns1123LabelFaults, dns1123SubdomainFaults } from '#api/meta/names.ts';
import { decode } from '#api/schema/decode.ts';
import { applyDefaults } from '#api/schema/defaults.ts';
import type { Pod, PodStatus } from '#api/schema/gen/core-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Json } from '../api-client/client.ts';
import { isObject, metadataText, objectName } from '../api-client/object-fields.ts';
import { formatIdentity } from './merge.ts';
import { isSafeUID } from './static-identity.ts';
import type { ManifestOrigin, RejectedManifest, SourcePod } from './types.ts';

export type ApiPod =
  | ({ readonly kind: 'pod' } & SourcePod)
  | ({ readonly kind: 'rejected' } & RejectedManifest);

/** Whether the pod is the copy of a static one, which some node runs by itself. */
export function isMirror(object: Json, words: Vocabulary): boolean {
  const { metadata } = object;
  const annotations = isObject(metadata) ? metadata['annotations'] : undefined;
  return isObject(annotations) && annotations[words.configMirror] !== undefined;
}

const originOf = (object: Json): ManifestOrigin => ({
  source: 'api',
  location: objectName(object),
  document: '',
});

/** What newer servers know and we do not is left out. */
export function readApiPod(object: Json, words: Vocabulary): ApiPod {
  const origin = originOf(object);
  const { value, errors } = decode<Pod>('core/v1.Pod', object, {
    unknownFields: 'ignore',
    missingFields: 'ignore',
  });
  const faults = errors.length > 0 ? errors : nameFaults(value);
  if (faults.length > 0) {
    const name = metadataText(object, 'name') ?? '';
    const identity = formatIdentity('Pod', metadataText(object, 'namespace'), name);
    return { kind: 'rejected', origin, identity, errors: faults };
  }
  return { kind: 'pod', origin, pod: asDesired(applyDefaults('core/v1.Pod', value), words) };
}

/** Whether a newer state of an object is read to the same pod: most of what a server tells is what it was told. */
export function wantsTheSame(before: Json, after: Json): boolean {
  return (
    isDeepStrictEqual(before['spec'], after['spec']) &&
    isDeepStrictEqual(desiredMetadata(before), desiredMetadata(after)) &&
    isDeepStrictEqual(endOf(before), endOf(after))
  );
}

function desiredMetadata({ metadata }: Json): unknown {
  if (!isObject(metadata)) return undefined;
  const { resourceVersion: _, managedFields: __, generation: ___, ...rest } = metadata;
  return rest;
}

function endOf({ status }: Json): unknown {
  const { phase, reason, message } = isObject(status) ? status : {};
  return phase === 'Failed' || phase === 'Succeeded' ? { phase, reason, message } : undefined;
}

/** Names that become parts of paths. A server checks them, but what it sends may have gone wrong on the way. */
function nameFaults({ metadata, spec }: Pod): readonly FieldError[] {
  const { uid = '', name = '', namespace = '' } = metadata ?? {};
  const fault = (field: string, badValue: string, detail: string): FieldError => ({
    kind: 'FieldValueInvalid',
    field,
    badValue,
    detail,
  });
  const containers = [
    ...(spec?.initContainers ?? []),
    ...(spec?.containers ?? []),
    ...(spec?.ephemeralContainers ?? []),
  ];
  return [
    ...(isSafeUID(uid) ? [] : [fault('metadata.uid', uid, 'is no UID')]),
    ...dns1123SubdomainFaults(name).map((detail) => fault('metadata.name', name, detail)),
    ...dns1123LabelFaults(namespace).map((detail) => fault('metadata.namespace', namespace, detail)),
    ...containers.flatMap((container) =>
      dns1123LabelFaults(container.name).map((detail) => fault('spec.containers', container.name, detail)),
    ),
    ...(spec?.volumes ?? []).flatMap((volume) =>
      dns1123LabelFaults(volume.name).map((detail) => fault('spec.volumes', volume.name, detail)),
    ),
  ];
}

/** The pod without what its server keeps of it: only a change of what is left is a change of what is wanted. */
function asDesired({ apiVersion: _version, kind: _kind, ...pod }: Pod, words: Vocabulary): Pod {
  const { resourceVersion: _, managedFields: __, generation: ___, ...metadata } = pod.metadata ?? {};
  const { annotations } = metadata;
  const status = terminalStatus(pod.status);
  const { status: ____, ...rest } = pod;
  return {
    ...rest,
    metadata:
      annotations === undefined ? metadata : { ...metadata, annotations: foreign(annotations, words) },
    ...(status === undefined ? {} : { status }),
  };
}

function foreign(
  annotations: Readonly<Record<string, string>>,
  { configHash, configSource, configSeen }: Vocabulary,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(annotations).filter(([key]) => ![configHash, configSource, configSeen].includes(key)),
  );
}

function terminalStatus(status: PodStatus | undefined): PodStatus | undefined {
  const { phase, reason, message } = status ?? {};
  if (phase !== 'Failed' && phase !== 'Succeeded') return undefined;
  return {
    phase,
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
  };
}
