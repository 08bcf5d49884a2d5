/** Tokens controller: fills service account token Secrets, and deletes them with their accounts. Source:
 *  service account tokens, document 2 §5.2; upstream's tokens controller, release 1.24, which no longer
 *  creates Secrets automatically. */

import type { Secret, ServiceAccount } from '#api/gen/core-v1.ts';
import { createWorkQueue } from '#api/kit/work-queue.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { TokenIssuer } from '../../authn/service-account/issuer.ts';
import type { CachedObject } from '../../cache/contract.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import type { Caller } from '../../verbs/contract.ts';
import { controllerCaller } from '../../verbs/controller-caller.ts';
import { unlessGone } from '../../verbs/unless-gone.ts';
import type { EveryNamespaceDeps } from '../every-namespace.ts';
import { decideTokenSecret, filledData, type TokenSecretNames, tokenSecretType } from './decide-token.ts';
import { createReferences } from './references.ts';

export interface AccountTokensDeps extends EveryNamespaceDeps {
  readonly vocabulary: Vocabulary;
  readonly issuer: Pick<TokenIssuer, 'issueKept'>;
  /** PEM of the CA for clients with such a token. */
  readonly authority: string;
}

/** Dependencies of one reconciliation of a secret. */
interface Visit {
  readonly secrets: Resource;
  readonly words: TokenSecretNames;
  readonly caller: Caller;
}

const MANAGER = 'tokens-controller';

/** Runs until the signal is aborted. */
export async function runAccountTokens(deps: AccountTokensDeps, signal: AbortSignal): Promise<void> {
  const { registry, cache, clock, log } = deps;
  const { domain } = deps.vocabulary;
  const secrets = registry.find('', 'v1', 'secrets');
  const accounts = registry.find('', 'v1', 'serviceaccounts');
  if (secrets === undefined || accounts === undefined) return;
  const words: TokenSecretNames = {
    accountName: `${domain}/service-account.name`,
    accountUid: `${domain}/service-account.uid`,
  };
  const visit: Visit = { secrets, words, caller: controllerCaller(MANAGER, signal) };
  const secretCache = cache.resource(secrets.storage);
  const accountCache = cache.resource(accounts.storage);
  const type = tokenSecretType(domain);
  const accountOf = (secret: CachedObject): string =>
    `${secret.namespace}/${secret.object().metadata.annotations?.[words.accountName] ?? ''}`;
  const byAccount = createReferences();
  const queue = createWorkQueue({
    clock,
    async work(key) {
      const entry = secretCache.get(key);
      if (entry === undefined || entry.object().metadata.deletionTimestamp !== undefined) return undefined;
      let account = accountCache.get(accountOf(entry));
      if (account === undefined) {
        // The account may have been created a moment ago: secrets are deleted only after a check of the
        // latest state.
        await cache.waitForNewest();
        account = accountCache.get(accountOf(entry));
      }
      await settle(deps, visit, entry, account?.object());
      return undefined;
    },
    onError: (secret, err) => log.warn({ err, secret }, 'Failed to reconcile token Secret; retrying'),
  });
  const following = [
    secretCache.follow(({ type: change, current, previous }) => {
      if (previous !== undefined) byAccount.remove(accountOf(previous), current.key);
      if (change === 'DELETED' || current.fields['type'] !== type) return;
      byAccount.add(accountOf(current), current.key);
      queue.add(current.key);
    }),
    accountCache.follow(({ current }) => {
      for (const secret of byAccount.of(current.key)) queue.add(secret);
    }),
  ];
  await queue.run(signal);
  for (const handle of following) handle.close();
}

async function settle(
  deps: AccountTokensDeps,
  visit: Visit,
  entry: CachedObject,
  account: ApiObject | undefined,
): Promise<void> {
  const secret = entry.object();
  const content = { authority: deps.authority, namespace: entry.namespace };
  const known = account === undefined ? undefined : typed<ServiceAccount>(account);
  const action = decideTokenSecret(typed<Secret>(secret), known, content, visit.words);
  switch (action.kind) {
    case 'none':
      return;
    case 'delete':
      await remove(deps, visit, secret);
      return;
    case 'fill':
      if (account !== undefined) await fill(deps, visit, entry, account, action.needsToken);
      return;
    default:
      action satisfies never;
  }
}

async function remove(
  { verbs }: AccountTokensDeps,
  { secrets, caller }: Visit,
  { metadata: { namespace = '', name = '', uid } }: ApiObject,
): Promise<void> {
  const preconditions = uid === undefined ? {} : { uid };
  const ref = { resource: secrets, namespace, name };
  await unlessGone(() => verbs.delete({ ref, dryRun: false, preconditions, caller }));
}

async function fill(
  { verbs, issuer, authority }: AccountTokensDeps,
  { secrets: resource, words, caller }: Visit,
  { namespace, name }: CachedObject,
  { metadata: { name: account = '', uid = '' } }: ApiObject,
  needsToken: boolean,
): Promise<void> {
  const subject = { namespace, account: { name: account, uid }, secret: name };
  const made = needsToken ? Buffer.from(issuer.issueKept(subject)).toString('base64') : '';
  await unlessGone(() =>
    verbs.update({
      ref: { resource, namespace, name },
      change: (live) => {
        live['data'] = filledData(typed<Secret>(live), { authority, namespace }, made);
        live.metadata.annotations = { ...live.metadata.annotations, [words.accountUid]: uid };
        return live;
      },
      dryRun: false,
      fieldManager: MANAGER,
      caller,
    }),
  );
}
