/** Settings of the listener and its requests. */
import { MAX_COUNT, type SettingsOf } from './setting.ts';

export interface ServingConfig {
  readonly bindAddress: string;
  readonly securePort: number;
  readonly advertiseAddress: string;
  readonly requestTimeout: number;
  /** In seconds. */
  readonly minRequestTimeout: number;
  readonly http2MaxStreamsPerConnection: number;
  readonly goawayChance: number;
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
  minRequestTimeout: {
    flag: 'min-request-timeout',
    type: 'integer',
    default: 1800,
    min: 1,
    max: MAX_COUNT,
    group: 'Serving',
    help: 'seconds after which a watch that requests no timeout may end; each ends after up to twice that',
  },
  http2MaxStreamsPerConnection: {
    flag: 'http2-max-streams-per-connection',
    type: 'integer',
    default: 250,
    min: 0,
    max: 100_000,
    group: 'Serving',
    help: 'maximum concurrent requests of an HTTP/2 connection; 0: 250',
  },
  goawayChance: {
    flag: 'goaway-chance',
    type: 'number',
    default: 0,
    min: 0,
    max: 0.02,
    group: 'Serving',
    help: 'probability that a request ends its HTTP/2 connection, which lets clients reconnect to another server behind a load balancer',
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
