/** Decoder from one parsed manifest document to its objects: decoded, defaulted, and with every error found
 *  so far. Never assigns a pod its static identity; the caller does, and then calls `defaultAndValidatePod`.
 *  Pure. */

import { Buffer } from 'node:buffer';
import { setMember } from '../codec/set-member.ts';
import type {
  ConfigMap,
  Endpoints,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Secret,
} from '../gen/core-v1.ts';
import type { ObjectMeta } from '../gen/meta-v1.ts';
import type { CSIDriver } from '../gen/storage-v1.ts';
import { isObject, textOf } from '../kit/object.ts';
import type { FieldError } from '../meta/field-error.ts';
import { canonicalApiVersion, VOCABULARIES, type Vocabulary } from '../vocabulary.ts';
import { decode } from './decode.ts';
import { applyDefaults } from './defaults.ts';
import { didYouMean } from './suggestion.ts';
import { validateConfigMap, validateSecret } from './validation/config.ts';
import { validateCSIDriver } from './validation/csi-driver.ts';
import { validateEndpoints } from './validation/endpoints.ts';
import { boundedFieldErrors, mergeFieldErrors } from './validation/field-errors.ts';
import { validateMetadata } from './validation/metadata.ts';
import { validatePersistentVolume, validatePersistentVolumeClaim } from './validation/persistent-volume.ts';
import { type PodValidationOptions, validatePod } from './validation/pod.ts';

interface ObjectOfKind {
  readonly Pod: Pod;
  readonly ConfigMap: ConfigMap;
  readonly Secret: Secret;
  readonly PersistentVolume: PersistentVolume;
  readonly PersistentVolumeClaim: PersistentVolumeClaim;
  readonly Endpoints: Endpoints;
  readonly CSIDriver: CSIDriver;
}
/** The kinds that a manifest may contain, all of apiVersion `v1` except the drivers. */
export type ManifestKind = keyof ObjectOfKind;

interface DecodedBase {
  /** `Pod default/web`, as far as it could be read. */
  readonly identity: string;
  /** All errors of the object; for a pod without the rules of `validatePod`. */
  readonly errors: readonly FieldError[];
  /** Index in the list that contains the object; absent if the document is the object. */
  readonly item?: number;
}
type DecodedKind<K extends ManifestKind> = DecodedBase & {
  readonly kind: K;
  readonly object: ObjectOfKind[K];
};
/** An object of a manifest, or an invalid one (`Unknown`, always with errors). */
export type DecodedObject =
  | DecodedKind<'Pod'>
  | DecodedKind<'ConfigMap'>
  | DecodedKind<'Secret'>
  | DecodedKind<'PersistentVolume'>
  | DecodedKind<'PersistentVolumeClaim'>
  | DecodedKind<'Endpoints'>
  | DecodedKind<'CSIDriver'>
  | (DecodedBase & { readonly kind: 'Unknown'; readonly object: undefined });

type WithMetadata = { readonly metadata?: ObjectMeta };
type Item = { readonly item?: number };

const KINDS: readonly ManifestKind[] = [
  'Pod',
  'ConfigMap',
  'Secret',
  'PersistentVolume',
  'PersistentVolumeClaim',
  'Endpoints',
  'CSIDriver',
];
const STORAGE_PACKAGE = `storage.${VOCABULARIES.plat.apiGroupDomain}/v1`;
const packageOf = (kind: string): string => (kind === 'CSIDriver' ? STORAGE_PACKAGE : 'core/v1');
/** In the canonical vocabulary. */
const versionOf = (kind: string): string => (kind === 'CSIDriver' ? STORAGE_PACKAGE : 'v1');
/** Kinds whose objects have no namespace. */
export const isClusterKind = (kind: string): boolean => kind === 'PersistentVolume' || kind === 'CSIDriver';
const UNDERSTOOD = `understood here are v1 ${KINDS.join(', ')}, and lists of them`;
const isKind = (kind: string): kind is ManifestKind => KINDS.some((known) => known === kind);
function identityOf(kind: string, value: unknown): string {
  const metadata = isObject(value) && isObject(value['metadata']) ? value['metadata'] : {};
  const name = textOf(metadata['name']).slice(0, 253);
  if (isClusterKind(kind)) return `${kind} ${name}`.trim();
  return name === '' ? kind : `${kind} ${textOf(metadata['namespace']).slice(0, 253) || 'default'}/${name}`;
}

const unknownObject = (value: unknown, error: FieldError, at: Item): DecodedObject => ({
  kind: 'Unknown',
  object: undefined,
  identity: identityOf((isObject(value) ? textOf(value['kind']) : '').slice(0, 64) || 'object', value),
  errors: [error],
  ...at,
});

/** Returns the kind of the document, or why it is not supported. */
function readKind(value: unknown): { readonly kind: string } | FieldError {
  if (!isObject(value)) {
    return {
      kind: 'FieldValueTypeInvalid',
      field: 'document',
      detail: `document must be an object; ${UNDERSTOOD}`,
    };
  }
  const { apiVersion, kind } = value;
  for (const [field, found] of [
    ['apiVersion', apiVersion],
    ['kind', kind],
  ] as const) {
    if (typeof found !== 'string' || found === '')
      return { kind: 'FieldValueRequired', field, detail: UNDERSTOOD };
  }
  const text = textOf(kind);
  const listKind = text.endsWith('List') ? text.slice(0, -'List'.length) : text;
  const known = isKind(listKind) || text === 'List';
  // A plain list does not specify the kind of its items.
  const version = text === 'List' ? 'v1' : versionOf(listKind);
  if (known && canonicalApiVersion(textOf(apiVersion)) === version) return { kind: text };
  const field = known ? 'apiVersion' : 'kind';
  const hint = known ? '' : didYouMean(text, [...KINDS, 'List']);
  const badValue = field === 'kind' ? text : apiVersion;
  return { kind: 'FieldValueNotSupported', field, badValue, detail: `${UNDERSTOOD}${hint}` };
}

/** Returns every object of a document; the items of a `List`, `PodList` and so on one by one. Decoded, with
 *  defaults, in namespace `default` unless they specify another, with a secret's `stringData` merged into its
 *  `data`. */
export function decodeManifestDocument(value: unknown, vocabulary: Vocabulary): readonly DecodedObject[] {
  const found = readKind(value);
  if ('field' in found) return [unknownObject(value, found, {})];
  const { kind } = found;
  if (isKind(kind)) return [decodeObject(kind, value, vocabulary, {})];
  return decodeList(kind, value, vocabulary);
}

function decodeList(kind: string, list: unknown, vocabulary: Vocabulary): readonly DecodedObject[] {
  const items = isObject(list) ? list['items'] : undefined;
  if (items === undefined || items === null) return [];
  if (!Array.isArray(items)) {
    return [
      unknownObject(list, { kind: 'FieldValueTypeInvalid', field: 'items', detail: 'must be a list' }, {}),
    ];
  }
  const itemKind = kind === 'List' ? undefined : kind.slice(0, -'List'.length);
  return items.map((item: unknown, index) => {
    // Items of a typed list may omit their kind and version.
    const whole =
      isObject(item) && itemKind !== undefined
        ? { apiVersion: versionOf(itemKind), kind: itemKind, ...item }
        : item;
    const at = { item: index };
    const found = readKind(whole);
    if ('field' in found) return unknownObject(item, found, at);
    if (itemKind !== undefined && found.kind !== itemKind) {
      const detail = `items of a ${kind} must be of kind ${itemKind}`;
      return unknownObject(
        item,
        { kind: 'FieldValueInvalid', field: 'kind', badValue: found.kind, detail },
        at,
      );
    }
    if (isKind(found.kind)) return decodeObject(found.kind, whole, vocabulary, at);
    return unknownObject(
      item,
      { kind: 'FieldValueForbidden', field: 'kind', detail: 'a list must not hold lists' },
      at,
    );
  });
}

/** Decodes, sets the namespace, applies defaults. */
function prepare<T extends WithMetadata>(
  kind: ManifestKind,
  value: unknown,
  finish: (object: T) => T = (object) => object,
): { readonly object: T; readonly identity: string; readonly errors: readonly FieldError[] } {
  const type = `${packageOf(kind)}.${kind}`;
  const { value: decoded, errors } = decode<T>(type, value);
  const named = isClusterKind(kind) ? decoded : withNamespace(decoded);
  const object = applyDefaults(type, finish(named));
  return { object, errors, identity: identityOf(kind, object) };
}

function withNamespace<T extends WithMetadata>(object: T): T {
  const namespace = object.metadata?.namespace ?? '';
  return { ...object, metadata: { ...object.metadata, namespace: namespace === '' ? 'default' : namespace } };
}

/** Returns the secret as it is stored: `stringData` encoded into `data`, replacing entries of the same key. */
export function foldStringData(secret: Secret): Secret {
  const { stringData, ...rest } = secret;
  if (stringData === undefined) return secret;
  const data: Record<string, string> = { ...rest.data };
  for (const [key, text] of Object.entries(stringData))
    setMember(data, key, Buffer.from(text).toString('base64'));
  return { ...rest, data };
}

function decodeObject(kind: ManifestKind, value: unknown, vocabulary: Vocabulary, at: Item): DecodedObject {
  switch (kind) {
    case 'Pod': {
      const ready = prepare<Pod>(kind, value);
      const metadata = boundedFieldErrors([
        () => validateMetadata(ready.object.metadata, { namespaced: true }),
      ]);
      return { kind, ...ready, errors: mergeFieldErrors(ready.errors, metadata), ...at };
    }
    case 'ConfigMap': {
      const ready = prepare<ConfigMap>(kind, value);
      return {
        kind,
        ...ready,
        errors: mergeFieldErrors(ready.errors, boundedFieldErrors([() => validateConfigMap(ready.object)])),
        ...at,
      };
    }
    case 'Secret': {
      const ready = prepare<Secret>(kind, value, foldStringData);
      const fieldErrors = boundedFieldErrors([() => validateSecret(ready.object, vocabulary)]);
      return { kind, ...ready, errors: mergeFieldErrors(ready.errors, fieldErrors), ...at };
    }
    case 'PersistentVolume': {
      const ready = prepare<PersistentVolume>(kind, value);
      const fieldErrors = boundedFieldErrors([() => validatePersistentVolume(ready.object)]);
      return { kind, ...ready, errors: mergeFieldErrors(ready.errors, fieldErrors), ...at };
    }
    case 'CSIDriver': {
      const ready = prepare<CSIDriver>(kind, value);
      const fieldErrors = boundedFieldErrors([() => validateCSIDriver(ready.object)]);
      return { kind, ...ready, errors: mergeFieldErrors(ready.errors, fieldErrors), ...at };
    }
    case 'PersistentVolumeClaim': {
      const ready = prepare<PersistentVolumeClaim>(kind, value);
      const fieldErrors = boundedFieldErrors([() => validatePersistentVolumeClaim(ready.object)]);
      return { kind, ...ready, errors: mergeFieldErrors(ready.errors, fieldErrors), ...at };
    }
    case 'Endpoints': {
      const ready = prepare<Endpoints>(kind, value);
      const fieldErrors = boundedFieldErrors([() => validateEndpoints(ready.object)]);
      return { kind, ...ready, errors: mergeFieldErrors(ready.errors, fieldErrors), ...at };
    }
    default:
      return kind satisfies never;
  }
}

/** Applies defaults again, which change no field that is set, then validates the pod; the last step, after
 *  the pod got its identity. `earlier` are the decoding errors, which come first and are not repeated. */
export function defaultAndValidatePod(
  pod: Pod,
  options: PodValidationOptions,
  earlier: readonly FieldError[] = [],
): { readonly pod: Pod; readonly errors: readonly FieldError[] } {
  const defaulted = applyDefaults('core/v1.Pod', withNamespace(pod));
  return {
    pod: defaulted,
    errors: mergeFieldErrors(earlier, boundedFieldErrors([() => validatePod(defaulted, options)])),
  };
}
