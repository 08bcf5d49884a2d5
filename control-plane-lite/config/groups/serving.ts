/** Settings of the listener and its requests. */
import type { SettingsOf } from './setting.ts';

export interface ServingConfig {
  readonly bindAddress: string;
  readonly securePort: number;
  readonly advertiseAddress: string;
  readonly requestTimeout: number;
  readonly livezGracePeriod: number;
  readonly shutdownDelayDuration: number;
}

export const SERVING: SettingsOf<ServingConfig> = {
  bindAddress: {
    flag: 'bind-address',
    type: 'string',
    default: '0.0.0.0',
    group: 'Serving',
    help: 'address to listen on',
  },
  securePort: {
    flag: 'secure-port',
    type: 'integer',
    default: 6443,
    min: 0,
    max: 65_535,
    group: 'Serving',
    help: 'port for TLS; 0 selects a free one',
  },
  advertiseAddress: {
    flag: 'advertise-address',
    type: 'string',
    default: '',
    group: 'Serving',
    help: 'address advertised to clients; default: the bind address, or the first address of the machine',
  },
  requestTimeout: {
    flag: 'request-timeout',
    type: 'duration',
    default: '1m',
    group: 'Serving',
    help: 'maximum duration of a request other than a watch',
  },
  livezGracePeriod: {
    flag: 'livez-grace-period',
    type: 'duration',
    default: '0s',
    group: 'Serving',
    help: 'startup time during which liveness does not fail',
  },
  shutdownDelayDuration: {
    flag: 'shutdown-delay-duration',
    type: 'duration',
    default: '0s',
    group: 'Serving',
    help: 'time between failing readiness and closing the listener',
  },
};
