/** Converts an API pod to the form that the agent runs. Pure.
 *
 *  The identity comes from the server. Only a terminal phase is taken from the status: it means that the pod
 *  must not be started.
 *  Annotations that identify static pods are ignored, whichever client set them. */
import { isDeepStrictEqual } from 'node:util';
import type { Pod, PodStatus } from '#api/gen/core-v1.ts';
import { isObject } from '#api/kit/object.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { dns1123LabelErrors, dns1123SubdomainErrors } from '#api/meta/names.ts';
import { decode } from '#api/schema/decode.ts';
import { applyDefaults } from '#api/schema/defaults.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Json } from '../../api-client/client.ts';
import { metadataText, objectName } from '../../api-client/object-fields.ts';
import { formatIdentity } from '../manifest-set.ts';
import { isSafeUID } from '../static-identity.ts';
import type { ManifestOrigin, RejectedManifest, SourcePod } from '../types.ts';

export type ApiPod =
  | ({ readonly kind: 'pod' } & SourcePod)
  | ({ readonly kind: 'rejected' } & RejectedManifest);

/** Reports whether the pod is the mirror of a static pod, which a node runs on its own. */
export function isMirror(object: Json, vocabulary: Vocabulary): boolean {
  const { metadata } = object;
  const annotations = isObject(metadata) ? metadata['annotations'] : undefined;
  return isObject(annotations) && annotations[vocabulary.configMirror] !== undefined;
}

const originOf = (object: Json): ManifestOrigin => ({
  source: 'api',
  location: objectName(object),
  document: '',
});

/** Drops fields of newer servers that this version does not know. */
export function readApiPod(object: Json, vocabulary: Vocabulary): ApiPod {
  const origin = originOf(object);
  const { value, errors } = decode<Pod>('core/v1.Pod', object, {
    unknownFields: 'ignore',
    missingFields: 'ignore',
  });
  const problems = errors.length > 0 ? errors : nameErrors(value);
  if (problems.length > 0) {
    const name = metadataText(object, 'name') ?? '';
    const identity = formatIdentity('Pod', metadataText(object, 'namespace'), name);
    return { kind: 'rejected', origin, identity, errors: problems };
  }
  return { kind: 'pod', origin, pod: asDesired(applyDefaults('core/v1.Pod', value), vocabulary) };
}

/** Reports whether a newer version of an object results in the same pod: most updates only reflect reported
 *  status. */
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

/** Names that become path segments. The server validates them; they are checked again as defence in depth. */
function nameErrors({ metadata, spec }: Pod): readonly FieldError[] {
  const { uid = '', name = '', namespace = '' } = metadata ?? {};
  const fieldError = (field: string, badValue: string, detail: string): FieldError => ({
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
    ...(isSafeUID(uid) ? [] : [fieldError('metadata.uid', uid, 'is not a valid UID')]),
    ...dns1123SubdomainErrors(name).map((detail) => fieldError('metadata.name', name, detail)),
    ...dns1123LabelErrors(namespace).map((detail) => fieldError('metadata.namespace', namespace, detail)),
    ...containers.flatMap((container) =>
      dns1123LabelErrors(container.name).map((detail) =>
        fieldError('spec.containers', container.name, detail),
      ),
    ),
    ...(spec?.volumes ?? []).flatMap((volume) =>
      dns1123LabelErrors(volume.name).map((detail) => fieldError('spec.volumes', volume.name, detail)),
    ),
  ];
}

/** Returns the pod without fields that its server maintains: only a change of the rest changes the desired
 *  pod. */
function asDesired({ apiVersion: _version, kind: _kind, ...pod }: Pod, vocabulary: Vocabulary): Pod {
  const { resourceVersion: _, managedFields: __, generation: ___, ...metadata } = pod.metadata ?? {};
  const { annotations } = metadata;
  const status = terminalStatus(pod.status);
  const { status: ____, ...rest } = pod;
  return {
    ...rest,
    metadata:
      annotations === undefined ? metadata : { ...metadata, annotations: foreign(annotations, vocabulary) },
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
