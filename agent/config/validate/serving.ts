/** Validation of the HTTP servers. */
import type { AgentConfig } from '../gen/config.ts';
import { type ConfigFieldError, errorOf } from './fault.ts';

/** Returns the validation errors of the serving settings. */
export function validateServing(config: AgentConfig): readonly ConfigFieldError[] {
  const errors: ConfigFieldError[] = [];
  const { tlsCertFile, tlsPrivateKeyFile } = config;
  if (tlsCertFile !== '' && tlsPrivateKeyFile === '') {
    const options = { badValue: tlsCertFile, others: ['tlsPrivateKeyFile'] };
    errors.push(errorOf('tlsCertFile', 'needs tlsPrivateKeyFile as well', options));
  }
  if (tlsPrivateKeyFile !== '' && tlsCertFile === '') {
    const options = { badValue: tlsPrivateKeyFile, others: ['tlsCertFile'] };
    errors.push(errorOf('tlsPrivateKeyFile', 'needs tlsCertFile as well', options));
  }
  for (const [index, badValue] of config.tlsCipherSuites.entries()) {
    if (/^TLS_[A-Z0-9_]+$/.test(badValue)) continue;
    const detail = 'must be a suite such as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256';
    errors.push(errorOf('tlsCipherSuites', detail, { badValue, path: `[${index}]` }));
  }
  if (config.readOnlyPort !== 0 && config.readOnlyPort === config.port) {
    const detail = 'must differ from port, as both use the same address';
    errors.push(errorOf('readOnlyPort', detail, { badValue: config.readOnlyPort, others: ['port'] }));
  }
  return errors;
}
