/** Settings of the store. */
import type { SettingsOf } from './setting.ts';

export interface StorageConfig {
  readonly dataDir: string;
  readonly etcdServers: readonly string[];
  readonly etcdCafile: string;
  readonly etcdCertfile: string;
  readonly etcdKeyfile: string;
  readonly etcdPrefix: string;
  readonly etcdCompactionInterval: number;
  readonly eventTtl: number;
}

export const STORAGE: SettingsOf<StorageConfig> = {
  dataDir: {
    flag: 'data-dir',
    type: 'string',
    default: '/var/lib/control-plane-lite',
    group: 'Storage',
    help: 'directory for the store, certificates and the administrator’s platconfig',
  },
  etcdServers: {
    flag: 'etcd-servers',
    type: 'list',
    default: [],
    group: 'Storage',
    help: 'etcd endpoints; default: the embedded store',
  },
  etcdCafile: {
    flag: 'etcd-cafile',
    type: 'string',
    default: '',
    group: 'Storage',
    help: 'CA of the etcd servers',
  },
  etcdCertfile: {
    flag: 'etcd-certfile',
    type: 'string',
    default: '',
    group: 'Storage',
    help: 'client certificate for etcd',
  },
  etcdKeyfile: {
    flag: 'etcd-keyfile',
    type: 'string',
    default: '',
    group: 'Storage',
    help: 'client key for etcd',
  },
  etcdPrefix: {
    flag: 'etcd-prefix',
    type: 'string',
    default: '',
    group: 'Storage',
    help: 'prefix of every key in etcd',
  },
  etcdCompactionInterval: {
    flag: 'compaction-interval',
    aliases: ['etcd-compaction-interval'],
    type: 'duration',
    default: '5m',
    group: 'Storage',
    help: 'history retained for watches and paged lists',
  },
  eventTtl: {
    flag: 'event-ttl',
    type: 'duration',
    default: '1h',
    group: 'Storage',
    help: 'retention time of events',
  },
};
