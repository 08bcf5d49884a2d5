/** Settings of the authorization modes. */
import type { SettingsOf } from './setting.ts';

/** Durations are in ms. */
export interface AuthorizationConfig {
  readonly authorizationMode: readonly string[];
  readonly authorizationPolicyFile: string;
  readonly authorizationWebhookConfigFile: string;
  readonly authorizationWebhookVersion: string;
  readonly authorizationWebhookCacheAuthorizedTtl: number;
  readonly authorizationWebhookCacheUnauthorizedTtl: number;
}

export const AUTHORIZATION: SettingsOf<AuthorizationConfig> = {
  authorizationMode: {
    flag: 'authorization-mode',
    type: 'list',
    default: ['Node', 'RBAC'],
    choices: ['AlwaysAllow', 'AlwaysDeny', 'ABAC', 'Webhook', 'Node', 'RBAC'],
    group: 'Authorization',
    help: 'authorizers, in the order in which they are consulted',
  },
  authorizationPolicyFile: {
    flag: 'authorization-policy-file',
    type: 'string',
    default: '',
    group: 'Authorization',
    help: 'policies of mode ABAC: a file with one JSON object on each line',
  },
  authorizationWebhookConfigFile: {
    flag: 'authorization-webhook-config-file',
    type: 'string',
    default: '',
    group: 'Authorization',
    help: 'client configuration file of the service that decides in mode Webhook',
  },
  authorizationWebhookVersion: {
    flag: 'authorization-webhook-version',
    type: 'string',
    default: 'v1beta1',
    choices: ['v1', 'v1beta1'],
    group: 'Authorization',
    help: 'version of the SubjectAccessReviews that are sent to the authorization webhook',
  },
  authorizationWebhookCacheAuthorizedTtl: {
    flag: 'authorization-webhook-cache-authorized-ttl',
    type: 'duration',
    default: '5m',
    group: 'Authorization',
    help: 'time for which the authorization webhook is not asked again after it has allowed a request',
  },
  authorizationWebhookCacheUnauthorizedTtl: {
    flag: 'authorization-webhook-cache-unauthorized-ttl',
    type: 'duration',
    default: '30s',
    group: 'Authorization',
    help: 'time for which the authorization webhook is not asked again after it has not allowed a request',
  },
};
