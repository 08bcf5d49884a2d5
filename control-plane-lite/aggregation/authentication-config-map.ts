/** Publishes the trust settings for extension servers: a ConfigMap with this server's CAs and the names of
 *  the request headers that identify the user. Servers that share a store merge theirs. Source: upstream's
 *  `extension-apiserver-authentication`. */

import { X509Certificate } from 'node:crypto';
import { parseJsonText } from '#api/codec/json-text.ts';
import { isMutableObject } from '#api/kit/object.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { parseCertificates } from '../authn/client-certificate.ts';
import type { ApiObject, Resource } from '../resources/contract.ts';
import type { Verbs } from '../verbs/contract.ts';
import { controllerCaller } from '../verbs/controller-caller.ts';
import { EXTRA_PREFIX, GROUP_HEADER, USER_HEADER } from './user-headers.ts';

const AUTHENTICATION_CONFIG_MAP = 'extension-apiserver-authentication';

export interface ExtensionAuthentication {
  /** PEM of the authorities for client certificates. */
  readonly clientAuthorities: string;
  /** PEM of the authorities for certificates that go with request headers. */
  readonly requestHeaderAuthorities: string;
  /** Common names of such certificates. */
  readonly requestHeaderNames: readonly string[];
  /** Names of the headers besides those that this server sends itself. */
  readonly usernameHeaders: readonly string[];
  readonly groupHeaders: readonly string[];
  readonly extraPrefixes: readonly string[];
}

type Data = Readonly<Record<string, string>>;

/** Returns the distinct certificates of both bundles, without expired ones. Ignores an invalid bundle. */
function joinBundles(known: string, own: string, nowMs: number): string {
  let others: readonly X509Certificate[];
  try {
    others = parseCertificates(known);
  } catch {
    others = [];
  }
  const all = [...others, ...parseCertificates(own)].filter(({ validTo }) => Date.parse(validTo) > nowMs);
  return [...new Map(all.map((certificate) => [certificate.fingerprint256, certificate.toString()])).values()]
    .map((pem) => (pem.endsWith('\n') ? pem : `${pem}\n`))
    .join('');
}

function joinLists(known: string | undefined, own: readonly string[]): string {
  let list: unknown;
  try {
    list = parseJsonText(known ?? '[]');
  } catch {
    list = [];
  }
  const others = Array.isArray(list) ? list.filter((each) => typeof each === 'string') : [];
  return JSON.stringify([...new Set([...others, ...own])]);
}

/** The data with this server's in it. Pure. */
export function mergeAuthentication(known: Data, own: ExtensionAuthentication, nowMs: number): Data {
  const list = (key: string, values: readonly string[]): Data => ({ [key]: joinLists(known[key], values) });
  const bundle = (key: string, value: string): Data => ({
    [key]: joinBundles(known[key] ?? '', value, nowMs),
  });
  return {
    ...known,
    ...bundle('client-ca-file', own.clientAuthorities),
    ...list('requestheader-allowed-names', own.requestHeaderNames),
    ...bundle('requestheader-client-ca-file', own.requestHeaderAuthorities),
    ...list('requestheader-extra-headers-prefix', [EXTRA_PREFIX, ...own.extraPrefixes]),
    ...list('requestheader-group-headers', [GROUP_HEADER, ...own.groupHeaders]),
    ...list('requestheader-username-headers', [USER_HEADER, ...own.usernameHeaders]),
  };
}

const dataOf = (object: ApiObject): Data => {
  const data = object['data'];
  if (!isMutableObject(data)) return {};
  return Object.fromEntries(
    Object.entries(data).flatMap(([key, value]) => (typeof value === 'string' ? [[key, value]] : [])),
  );
};

export interface PublishDeps {
  readonly verbs: Pick<Verbs, 'create' | 'update'>;
  /** ConfigMaps. */
  readonly resource: Resource;
  readonly vocabulary: Vocabulary;
  readonly nowMs: number;
}

/** Creates the ConfigMap, or adds to it. */
export async function publishAuthentication(
  { verbs, resource, vocabulary, nowMs }: PublishDeps,
  own: ExtensionAuthentication,
  signal: AbortSignal,
): Promise<void> {
  const caller = controllerCaller('cluster-authentication-trust', signal);
  const ref = { resource, namespace: vocabulary.systemNamespace, name: AUTHENTICATION_CONFIG_MAP };
  const options = { dryRun: false, fieldManager: 'cluster-authentication-trust' };
  const draft = resource.schema.decode({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: ref.name, namespace: ref.namespace },
    data: mergeAuthentication({}, own, nowMs),
  });
  try {
    await verbs.create({ ...options, ref, object: draft.object, caller });
    return;
  } catch (thrown) {
    if (!(thrown instanceof StatusError && thrown.reason === 'AlreadyExists')) throw thrown;
  }
  await verbs.update({
    ref,
    change: (live) => {
      live['data'] = mergeAuthentication(dataOf(live), own, nowMs);
      return live;
    },
    ...options,
    caller,
  });
}
