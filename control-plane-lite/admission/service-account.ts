/** Applies the service account of a pod: its name, the token volume, and the image pull secrets. Source:
 *  ServiceAccount, document 2 §2.7; upstream's plugin, release 1.24. */
import type { Pod, ServiceAccount } from '#api/gen/core-v1.ts';
import type { CachedObject } from '../cache/contract.ts';
import { podReferences } from '../resources/core/pod-references.ts';
import { draftSpec, membersOf, typed } from '../resources/view.ts';
import type { AdmissionPlugin, AdmissionRequest } from './contract.ts';
import type { AdmissionDeps } from './deps.ts';
import { refusal } from './refusal.ts';
import { createAwaiter } from './service-account/awaiter.ts';
import { secretError } from './service-account/mountable.ts';
import { mountToken } from './service-account/token-volume.ts';

const DEFAULT_ACCOUNT = 'default';
/** A controller creates the default account soon after its namespace. */
const DEFAULT_WAIT_MS = 1500;

export function createServiceAccountAdmission({
  vocabulary,
  clock,
  objects,
}: AdmissionDeps): AdmissionPlugin {
  const accounts = objects('', 'serviceaccounts');
  const awaiter = createAwaiter({ source: accounts, clock });
  const enforceKey = `${vocabulary.domain}/enforce-mountable-secrets`;

  async function lookUp(namespace: string, name: string): Promise<CachedObject | undefined> {
    const key = `${namespace}/${name}`;
    const found = await accounts.find(key);
    return found ?? (name === DEFAULT_ACCOUNT ? awaiter.wait(key, DEFAULT_WAIT_MS) : undefined);
  }

  function checked(request: AdmissionRequest, name: string, found: CachedObject | undefined): ServiceAccount {
    if (found !== undefined) return typed<ServiceAccount>(found.object());
    const quoted = JSON.stringify(name);
    throw refusal(
      request,
      `error looking up service account ${request.namespace}/${name}: serviceaccount ${quoted} not found`,
    );
  }

  function complete(pod: Pod, request: AdmissionRequest, account: ServiceAccount): void {
    const { object } = request;
    if (object === undefined) return;
    if (pod.spec?.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true)
      mountToken(object, vocabulary);
    const secrets = account.imagePullSecrets ?? [];
    if ((pod.spec?.imagePullSecrets ?? []).length === 0 && secrets.length > 0)
      draftSpec<NonNullable<Pod['spec']>>(object).imagePullSecrets = secrets.map((each) => ({ ...each }));
    limit(request, pod, account);
  }

  function limit(request: AdmissionRequest, pod: Pod, account: ServiceAccount): void {
    if (!isTrue(account.metadata?.annotations?.[enforceKey])) return;
    const fieldError = secretError(pod, account);
    if (fieldError !== undefined) throw refusal(request, fieldError);
  }

  function admitNew(request: AdmissionRequest): void | Promise<void> {
    const { object, namespace } = request;
    if (object === undefined) return undefined;
    const pod = typed<Pod>(object);
    if (object.metadata.annotations?.[vocabulary.configMirror] !== undefined)
      return checkMirror(request, pod);
    const given = pod.spec?.serviceAccountName ?? '';
    const name = given === '' ? (pod.spec?.serviceAccount ?? '') : given;
    const used = name === '' ? DEFAULT_ACCOUNT : name;
    const spec = membersOf(object, 'spec');
    spec['serviceAccountName'] = used;
    spec['serviceAccount'] = used;
    // The common case is synchronous.
    const known = accounts.get(`${namespace}/${used}`);
    if (known !== undefined) return complete(pod, request, checked(request, used, known));
    return lookUp(namespace, used).then((found) => complete(pod, request, checked(request, used, found)));
  }

  async function admitEphemeral(request: AdmissionRequest): Promise<void> {
    const { object, namespace } = request;
    if (object === undefined) return;
    const pod = typed<Pod>(object);
    const name = pod.spec?.serviceAccountName ?? '';
    if (name === '') return;
    limit(request, pod, checked(request, name, await lookUp(namespace, name)));
  }

  return {
    name: 'ServiceAccount',
    operations: ['CREATE', 'UPDATE'],
    resources: new Set(['/pods']),
    mutate(request) {
      if (request.operation === 'CREATE') return request.subresource === '' ? admitNew(request) : undefined;
      return request.subresource === 'ephemeralcontainers' ? admitEphemeral(request) : undefined;
    },
  };
}

/** Upstream's readings of yes. */
const isTrue = (text: string | undefined): boolean =>
  text !== undefined && ['1', 't', 'T', 'true', 'TRUE', 'True'].includes(text);

/** A mirror pod shows what runs from a file, which can't have anything of the API.
 *  @throws StatusError Forbidden */
function checkMirror(request: AdmissionRequest, { spec }: Pod): void {
  if (spec === undefined) return;
  if ((spec.serviceAccountName ?? '') !== '')
    throw refusal(request, 'a mirror pod may not reference service accounts');
  if (podReferences(spec, '').secrets.size > 0)
    throw refusal(request, 'a mirror pod may not reference secrets');
  const projections = (spec.volumes ?? []).flatMap(({ projected }) => projected?.sources ?? []);
  if (projections.some(({ serviceAccountToken }) => serviceAccountToken !== undefined))
    throw refusal(request, 'a mirror pod may not use ServiceAccountToken volume projections');
}
