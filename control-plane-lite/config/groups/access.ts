/** Settings of authentication, authorization and admission. */
import { ADMISSION_PLUGINS } from '../../admission/names.ts';
import type { SettingsOf } from './setting.ts';

export interface AccessConfig {
  readonly clientCaFile: string;
  readonly tokenAuthFile: string;
  readonly anonymousAuth: boolean;
  readonly enableBootstrapTokenAuth: boolean;
  readonly apiAudiences: readonly string[];
  readonly serviceAccountIssuer: readonly string[];
  readonly serviceAccountKeyFile: readonly string[];
  readonly serviceAccountSigningKeyFile: string;
  readonly enableAdmissionPlugins: readonly string[];
  readonly disableAdmissionPlugins: readonly string[];
  readonly admissionControlConfigFile: string;
}

export const ACCESS: SettingsOf<AccessConfig> = {
  clientCaFile: {
    flag: 'client-ca-file',
    type: 'string',
    default: '',
    group: 'Authentication',
    help: 'CAs of client certificates, in addition to the server’s own',
  },
  tokenAuthFile: {
    flag: 'token-auth-file',
    type: 'string',
    default: '',
    group: 'Authentication',
    help: 'static tokens: token,user,uid,"group1,group2"',
  },
  anonymousAuth: {
    flag: 'anonymous-auth',
    type: 'boolean',
    default: true,
    defaultText: 'true; false if --authorization-mode includes AlwaysAllow',
    group: 'Authentication',
    help: 'authenticate requests without credentials as system:anonymous',
  },
  enableBootstrapTokenAuth: {
    flag: 'enable-bootstrap-token-auth',
    type: 'boolean',
    default: false,
    group: 'Authentication',
    help: 'authenticate bootstrap tokens, which nodes join with, and sign cluster-info for them',
  },
  apiAudiences: {
    flag: 'api-audiences',
    type: 'list',
    default: [],
    group: 'Authentication',
    help: 'audiences that identify this server in tokens; default: the issuer',
  },
  serviceAccountIssuer: {
    flag: 'service-account-issuer',
    type: 'list',
    default: [],
    group: 'Authentication',
    help: 'issuer of tokens; tokens of additional issuers are accepted as well; default: https:// and the API service’s name',
  },
  serviceAccountKeyFile: {
    flag: 'service-account-key-file',
    type: 'list',
    default: [],
    group: 'Authentication',
    help: 'keys that verify tokens, in addition to the signing key',
  },
  serviceAccountSigningKeyFile: {
    flag: 'service-account-signing-key-file',
    type: 'string',
    default: '',
    group: 'Authentication',
    help: 'key that signs tokens, the same for servers that share an etcd; default: a generated key',
  },
  enableAdmissionPlugins: {
    flag: 'enable-admission-plugins',
    type: 'list',
    default: [],
    choices: ADMISSION_PLUGINS.map(({ name }) => name),
    group: 'Authorization',
    help: 'admission plugins to enable in addition to the default ones; their order does not matter',
  },
  disableAdmissionPlugins: {
    flag: 'disable-admission-plugins',
    type: 'list',
    default: [],
    choices: ADMISSION_PLUGINS.map(({ name }) => name),
    group: 'Authorization',
    help: 'admission plugins to disable',
  },
  admissionControlConfigFile: {
    flag: 'admission-control-config-file',
    type: 'string',
    default: '',
    group: 'Authorization',
    help: 'admission plugin settings, inline or in files that this file references',
  },
};
