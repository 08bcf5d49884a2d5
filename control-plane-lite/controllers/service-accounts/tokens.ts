/** Tokens controller: fills service account token Secrets, and deletes them with their accounts. Source:
 *  service account tokens, document 2 §5.2; upstream's tokens controller, release 1.24, which no longer
 *  creates Secrets automatically. */

import type { Secret, ServiceAccount } from '#api/gen/core-v1.ts';
import type { CachedObject, WatchHandle } from '../../cache/contract.ts';
import type { ApiObject } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import { unlessGone } from '../../verbs/unless-gone.ts';
import { type Controller, type ControllerContext, defineController } from '../skeleton/declaration.ts';
import { decideTokenSecret, filledData, type TokenSecretNames, tokenSecretType } from './decide-token.ts';
import { NO_GENERATION_GATE, runTokenGeneration } from './generate-secrets.ts';
import { createReferences } from './references.ts';

interface Parts {
  readonly context: ControllerContext;
  readonly names: TokenSecretNames;
}

/** Index key of the account that a Secret refers to. */
const accountOf = ({ names }: Parts, secret: CachedObject): string =>
  `${secret.namespace}/${secret.object().metadata.annotations?.[names.accountName] ?? ''}`;

async function reconcile(parts: Parts, key: string): Promise<undefined> {
  const { context } = parts;
  const accounts = context.cacheOf('serviceaccounts');
  const entry = context.cacheOf('secrets').get(key);
  if (entry === undefined || entry.object().metadata.deletionTimestamp !== undefined) return;
  let account = accounts.get(accountOf(parts, entry));
  if (account === undefined) {
    // The account may have been created a moment ago: secrets are deleted only after a check of the latest
    // state.
    await context.cache.waitForNewest();
    account = accounts.get(accountOf(parts, entry));
  }
  await reconcileSecret(parts, entry, account?.object());
}

async function reconcileSecret(
  parts: Parts,
  entry: CachedObject,
  account: ApiObject | undefined,
): Promise<void> {
  const secret = entry.object();
  const authority = parts.context.settings.rootAuthority();
  const content = { authority, namespace: entry.namespace };
  const known = account === undefined ? undefined : typed<ServiceAccount>(account);
  const action = decideTokenSecret(typed<Secret>(secret), known, content, parts.names);
  switch (action.kind) {
    case 'none':
      return;
    case 'delete':
      await remove(parts, secret);
      return;
    case 'fill':
      if (account !== undefined) await fill(parts, entry, account, action.needsToken);
      return;
    default:
      action satisfies never;
  }
}

async function remove(
  { context }: Parts,
  { metadata: { namespace = '', name = '', uid } }: ApiObject,
): Promise<void> {
  const { verbs, caller } = context.client;
  const preconditions = uid === undefined ? {} : { uid };
  const ref = { resource: context.resourceOf('secrets'), namespace, name };
  await unlessGone(() => verbs.delete({ ref, dryRun: false, preconditions, caller }));
}

async function fill(
  { context, names }: Parts,
  { namespace, name }: CachedObject,
  { metadata: { name: account = '', uid = '' } }: ApiObject,
  needsToken: boolean,
): Promise<void> {
  const { verbs, caller, fieldManager } = context.client;
  const { tokenIssuer, rootAuthority } = context.settings;
  const authority = rootAuthority();
  const subject = { namespace, account: { name: account, uid }, secret: name };
  const token = needsToken ? Buffer.from(await tokenIssuer.issueStored(subject)).toString('base64') : '';
  await unlessGone(() =>
    verbs.update({
      ref: { resource: context.resourceOf('secrets'), namespace, name },
      change: (live) => {
        live['data'] = filledData(typed<Secret>(live), { authority, namespace }, token);
        live.metadata.annotations = { ...live.metadata.annotations, [names.accountUid]: uid };
        return live;
      },
      dryRun: false,
      fieldManager,
      caller,
    }),
  );
}

/** Follows token Secrets and their accounts. */
function follow(parts: Parts): readonly WatchHandle[] {
  const { queue, vocabulary } = parts.context;
  const tokenType = tokenSecretType(vocabulary.domain);
  const byAccount = createReferences();
  const secrets = parts.context.cacheOf('secrets');
  async function requeueAll(): Promise<void> {
    const { items } = await secrets.list({ labels: [], fields: [] });
    for (const { key, fields } of items) if (fields['type'] === tokenType) queue.add(key);
  }

  const close = parts.context.settings.onTrustChange(() => void requeueAll());
  return [
    { close },
    secrets.follow(({ type, current, previous }) => {
      if (previous !== undefined) byAccount.remove(accountOf(parts, previous), current.key);
      if (type === 'DELETED' || current.fields['type'] !== tokenType) return;
      byAccount.add(accountOf(parts, current), current.key);
      queue.add(current.key);
    }),
    parts.context.cacheOf('serviceaccounts').follow(({ current }) => {
      for (const secret of byAccount.of(current.key)) queue.add(secret);
    }),
  ];
}

export const tokensController: Controller = defineController({
  name: 'serviceaccount-token',
  identity: 'tokens-controller',
  watches: ['secrets', 'serviceaccounts'],
  writes: {
    secrets: { create: true, delete: true, update: ['data', 'metadata.annotations'] },
    serviceaccounts: { update: ['secrets'] },
  },
  ownFieldManager: true,
  workers: 4,
  start(context) {
    const { domain } = context.vocabulary;
    const names: TokenSecretNames = {
      accountName: `${domain}/service-account.name`,
      accountUid: `${domain}/service-account.uid`,
    };
    const parts: Parts = { context, names };
    return {
      reconcile: (key) => reconcile(parts, key),
      follows: follow(parts),
      background: context.gates.has(NO_GENERATION_GATE)
        ? []
        : [(signal) => runTokenGeneration(context, signal)],
      onError: (secret, err) =>
        context.log.warn({ err, secret }, 'Failed to reconcile token Secret; retrying'),
    };
  },
});
