/** Generates a token Secret for every service account, where the gate
 *  LegacyServiceAccountTokenNoAutoGeneration is off, and removes references to deleted Secrets. The tokens
 *  controller fills in the Secret's content. Source: upstream's tokens controller, release 1.24. */

import type { ServiceAccount } from '#api/gen/core-v1.ts';
import { createWorkQueue } from '#api/kit/work-queue.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import type { Caller } from '../../verbs/contract.ts';
import { controllerCaller } from '../../verbs/controller-caller.ts';
import { unlessGone } from '../../verbs/unless-gone.ts';
import type { EveryNamespaceDeps } from '../every-namespace.ts';
import { tokenSecretType } from './decide-token.ts';
import { createReferences, type References } from './references.ts';

/** While this gate is on, Secrets for tokens exist only where a user creates them. */
export const NO_GENERATION_GATE = 'LegacyServiceAccountTokenNoAutoGeneration';

export interface GenerateSecretsDeps extends EveryNamespaceDeps {
  readonly vocabulary: Vocabulary;
}

const MANAGER = 'tokens-controller';

/** Names of the Secrets that an account lists. */
const listedSecrets = ({ secrets = [] }: ServiceAccount): readonly string[] =>
  secrets.flatMap(({ name = '' }) => (name === '' ? [] : [name]));

/** Reports whether the account needs a Secret: none of those that it lists holds a token of its own. */
export const needsTokenSecret = (
  account: ServiceAccount,
  holdsToken: (secretName: string) => boolean,
): boolean => account.metadata?.deletionTimestamp === undefined && !listedSecrets(account).some(holdsToken);

interface Parts {
  readonly deps: GenerateSecretsDeps;
  readonly accounts: Resource;
  readonly secrets: Resource;
  readonly type: string;
  readonly nameAnnotation: string;
  readonly uidAnnotation: string;
  readonly caller: Caller;
  /** Names of deleted token Secrets by the account that may still refer to them. */
  readonly deleted: References;
}

/** Runs until the signal is aborted. */
export async function runTokenSecrets(deps: GenerateSecretsDeps, signal: AbortSignal): Promise<void> {
  const { registry, cache, clock, log } = deps;
  const { domain } = deps.vocabulary;
  const accounts = registry.find('', 'v1', 'serviceaccounts');
  const secrets = registry.find('', 'v1', 'secrets');
  if (accounts === undefined || secrets === undefined) return;
  const parts: Parts = {
    deps,
    accounts,
    secrets,
    type: tokenSecretType(domain),
    nameAnnotation: `${domain}/service-account.name`,
    uidAnnotation: `${domain}/service-account.uid`,
    caller: controllerCaller(MANAGER, signal),
    deleted: createReferences(),
  };
  const queue = createWorkQueue({
    clock,
    async work(key) {
      // The reference to a Secret that was created a moment ago must be visible, or another one would be created.
      await cache.waitForNewest();
      await visit(parts, key);
      return undefined;
    },
    onError: (account, err) =>
      log.warn({ err, account }, 'Failed to generate token Secret for service account; retrying'),
  });
  const following = [
    cache.resource(accounts.storage).follow(({ type, current }) => {
      if (type !== 'DELETED') queue.add(current.key);
    }),
    cache.resource(secrets.storage).follow(({ type, current }) => {
      if (type !== 'DELETED' || current.fields['type'] !== parts.type) return;
      const name = current.object().metadata.annotations?.[parts.nameAnnotation] ?? '';
      const account = `${current.namespace}/${name}`;
      parts.deleted.add(account, current.name);
      queue.add(account);
    }),
  ];
  await queue.run(signal);
  for (const handle of following) handle.close();
}

async function visit(parts: Parts, key: string): Promise<void> {
  const { deps, accounts, secrets, type, uidAnnotation, deleted } = parts;
  const gone = [...deleted.of(key)];
  const known = deps.cache.resource(accounts.storage).get(key);
  if (known !== undefined) {
    const object = known.object();
    const secretCache = deps.cache.resource(secrets.storage);
    const holdsToken = (name: string): boolean => {
      const secret = secretCache.get(`${known.namespace}/${name}`);
      if (secret?.fields['type'] !== type) return false;
      return secret.object().metadata.annotations?.[uidAnnotation] === object.metadata.uid;
    };
    const account = typed<ServiceAccount>(object);
    const needed = needsTokenSecret(account, holdsToken);
    const created = needed ? await createSecret(parts, object) : undefined;
    if (created !== undefined || listedSecrets(account).some((name) => gone.includes(name))) {
      await writeReferences(parts, object, gone, created);
    }
  }
  for (const name of gone) deleted.remove(key, name);
}

/** Returns the name of the new Secret; `undefined`: its namespace is being deleted. */
async function createSecret(
  { deps, secrets, type, nameAnnotation, uidAnnotation, caller }: Parts,
  { metadata: { namespace = '', name = '', uid = '' } }: ApiObject,
): Promise<string | undefined> {
  const secret: ApiObject = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      generateName: `${name}-token-`,
      namespace,
      annotations: { [nameAnnotation]: name, [uidAnnotation]: uid },
    },
    type,
  };
  try {
    const ref = { resource: secrets, namespace, name: '' };
    const { object } = await deps.verbs.create({
      ref,
      object: secret,
      dryRun: false,
      fieldManager: MANAGER,
      caller,
    });
    return object.metadata.name;
  } catch (thrown) {
    if (thrown instanceof StatusError && ['NotFound', 'Forbidden'].includes(thrown.reason)) return undefined;
    throw thrown;
  }
}

/** Refers from the account to the new Secret, and no longer to those that are gone. A new Secret that no account
 *  refers to afterwards is deleted. */
async function writeReferences(
  { deps, accounts, secrets, caller }: Parts,
  { metadata: { namespace = '', name = '', uid = '' } }: ApiObject,
  gone: readonly string[],
  created: string | undefined,
): Promise<void> {
  const change = (live: ApiObject): ApiObject => {
    if (live.metadata.uid !== uid) {
      throw new StatusError('NotFound', `service account ${name} no longer exists`);
    }
    const listed = typed<ServiceAccount>(live).secrets ?? [];
    const left = listed.filter((each) => !gone.includes(each.name ?? ''));
    live['secrets'] = created === undefined ? left : [...left, { name: created }];
    return live;
  };
  const ref = { resource: accounts, namespace, name };
  try {
    await deps.verbs.update({ ref, change, dryRun: false, fieldManager: MANAGER, caller });
  } catch (thrown) {
    if (created !== undefined) {
      const unused = { resource: secrets, namespace, name: created };
      await unlessGone(() => deps.verbs.delete({ ref: unused, dryRun: false, caller }));
    }
    if (!(thrown instanceof StatusError && thrown.reason === 'NotFound')) throw thrown;
  }
}
