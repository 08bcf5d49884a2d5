/** Authenticates bootstrap tokens of machines that join as nodes. Source: bootstrap tokens, document 2
 *  §5.9. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Clock } from '#api/kit/clock.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ApiObject } from '../resources/contract.ts';
import {
  BOOTSTRAP_TOKEN,
  BOOTSTRAPPERS_GROUP,
  bootstrapSecretKey,
  isExtraGroup,
  readBootstrapSecret,
} from './bootstrap-secret.ts';
import type { AuthenticationResult, Authenticator } from './contract.ts';

export interface BootstrapTokenDeps {
  readonly clock: Clock;
  readonly vocabulary: Vocabulary;
  /** The Secret with this key, `namespace/name`. */
  readonly find: (key: string) => ApiObject | undefined;
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

const rejected = (message: string): AuthenticationResult => ({ kind: 'rejected', message });

export function createBootstrapTokenAuthenticator(deps: BootstrapTokenDeps): Authenticator {
  const { clock, vocabulary } = deps;
  return {
    name: 'bootstrap-token',
    authenticate({ bearerToken }): AuthenticationResult {
      const [, id, secret] = BOOTSTRAP_TOKEN.exec(bearerToken ?? '') ?? [];
      if (id === undefined || secret === undefined) return { kind: 'none' };
      const object = deps.find(bootstrapSecretKey(id, vocabulary));
      if (object === undefined || object.metadata.deletionTimestamp !== undefined) return { kind: 'none' };
      const token = readBootstrapSecret(object, vocabulary);
      if (token === undefined || !timingSafeEqual(digest(token.secret), digest(secret))) {
        return { kind: 'none' };
      }
      if (token.expiresMs <= clock.now()) return rejected(`bootstrap token ${id} has expired`);
      if (!token.authentication) return rejected(`bootstrap token ${id} may not be used for authentication`);
      const bad = token.extraGroups.find((group) => !isExtraGroup(group));
      if (bad !== undefined) {
        return rejected(
          `bootstrap token ${id} has the group ${JSON.stringify(bad)}, which bootstrap tokens may not have`,
        );
      }
      const groups = [...new Set([BOOTSTRAPPERS_GROUP, ...token.extraGroups])];
      return { kind: 'user', user: { name: `system:bootstrap:${id}`, groups, extra: {} } };
    },
  };
}
