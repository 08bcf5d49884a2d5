/** Generates a token Secret for every service account, where the gate
 *  LegacyServiceAccountTokenNoAutoGeneration is off, and removes references to deleted Secrets. The tokens
 *  controller fills in the Secret's content. Source: upstream's tokens controller, release 1.24. */

import type { ServiceAccount } from '#api/gen/core-v1.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { ApiObject } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import { unlessGone } from '../../verbs/unless-gone.ts';
import type { ControllerContext } from '../skeleton/declaration.ts';
import { createKeyQueue } from '../workloads-kit/run-keys.ts';
import { tokenSecretType } from './decide-token.ts';
import { createReferences, type References } from './references.ts';

/** While this gate is on, Secrets for tokens exist only where a user creates them. */
export const NO_GENERATION_GATE = 'LegacyServiceAccountTokenNoAutoGeneration';

/** Names of the Secrets that an account lists. */
const listedSecrets = ({ secrets = [] }: ServiceAccount): readonly string[] =>
  secrets.flatMap(({ name = '' }) => (name === '' ? [] : [name]));

/** Reports whether the account needs a Secret: none of those that it lists holds a token of its own. */
export const needsTokenSecret = (
  account: ServiceAccount,
  holdsToken: (secretName: string) => boolean,
): boolean => account.metadata?.deletionTimestamp === undefined && !listedSecrets(account).some(holdsToken);

interface Parts {
  readonly context: ControllerContext;
  readonly type: string;
  readonly nameAnnotation: string;
  readonly uidAnnotation: string;
  /** Names of deleted token Secrets by the account that may still refer to them. */
  readonly deleted: References;
}

/** Runs until the signal is aborted. */
export async function runTokenGeneration(context: ControllerContext, signal: AbortSignal): Promise<void> {
  const { cache, log, vocabulary } = context;
  const { domain } = vocabulary;
  const parts: Parts = {
    context,
    type: tokenSecretType(domain),
    nameAnnotation: `${domain}/service-account.name`,
    uidAnnotation: `${domain}/service-account.uid`,
    deleted: createReferences(),
  };
  const queue = createKeyQueue(
    context,
    async (key) => {
      // The reference to a Secret that was created a moment ago must be visible, or another one would be created.
      await cache.waitForNewest();
      await reconcile(parts, key);
      return undefined;
    },
    {
      workers: 4,
      onError: (account, err) =>
        log.warn({ err, account }, 'Failed to generate token Secret for service account; retrying'),
    },
  );
  const following = [
    context.cacheOf('serviceaccounts').follow(({ type, current }) => {
      if (type !== 'DELETED') queue.add(current.key);
    }),
    context.cacheOf('secrets').follow(({ type, current }) => {
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

async function reconcile(parts: Parts, key: string): Promise<void> {
  const { context, type, uidAnnotation, deleted } = parts;
  const gone = [...deleted.of(key)];
  const known = context.cacheOf('serviceaccounts').get(key);
  if (known !== undefined) {
    const object = known.object();
    const secretCache = context.cacheOf('secrets');
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
  { context, type, nameAnnotation, uidAnnotation }: Parts,
  { metadata: { namespace = '', name = '', uid = '' } }: ApiObject,
): Promise<string | undefined> {
  const { verbs, caller, fieldManager } = context.client;
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
    const ref = { resource: context.resourceOf('secrets'), namespace, name: '' };
    const { object } = await verbs.create({ ref, object: secret, dryRun: false, fieldManager, caller });
    return object.metadata.name;
  } catch (thrown) {
    if (thrown instanceof StatusError && ['NotFound', 'Forbidden'].includes(thrown.reason)) return undefined;
    throw thrown;
  }
}

/** Adds a reference to the new Secret and removes those to deleted ones. A new Secret that no account
 *  refers to afterwards is deleted. */
async function writeReferences(
  { context }: Parts,
  { metadata: { namespace = '', name = '', uid = '' } }: ApiObject,
  gone: readonly string[],
  created: string | undefined,
): Promise<void> {
  const { verbs, caller, fieldManager } = context.client;
  const change = (live: ApiObject): ApiObject => {
    if (live.metadata.uid !== uid) {
      throw new StatusError('NotFound', `service account ${name} no longer exists`);
    }
    const listed = typed<ServiceAccount>(live).secrets ?? [];
    const left = listed.filter((each) => !gone.includes(each.name ?? ''));
    live['secrets'] = created === undefined ? left : [...left, { name: created }];
    return live;
  };
  try {
    await verbs.update({
      ref: { resource: context.resourceOf('serviceaccounts'), namespace, name },
      change,
      dryRun: false,
      fieldManager,
      caller,
    });
  } catch (thrown) {
    if (created !== undefined) {
      const ref = { resource: context.resourceOf('secrets'), namespace, name: created };
      await unlessGone(() => verbs.delete({ ref, dryRun: false, caller }));
    }
    if (!(thrown instanceof StatusError && thrown.reason === 'NotFound')) throw thrown;
  }
}
