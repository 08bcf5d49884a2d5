/** Volumes and their plugins. */
import type { Setting } from '../setting.ts';

export const VOLUME_SETTINGS: readonly Setting[] = [
  {
    key: 'volumePluginDir',
    group: 'Volumes',
    type: 'string',
    default: '/usr/libexec/plat/nodeagent-plugins/volume/exec/',
    inFile: true,
    flags: [{ name: 'volume-plugin-dir', deprecated: 'config-file' }],
    isPath: true,
    acted: true,
    help: 'Directory searched for further volume plugins.',
  },
  {
    key: 'volumeStatsAggPeriod',
    group: 'Volumes',
    type: 'duration',
    default: '1m0s',
    inFile: true,
    flags: [{ name: 'volume-stats-agg-period', deprecated: 'config-file' }],
    acted: true,
    help: 'Interval at which the disk usage of volumes is computed; 0 or less disables it.',
  },
  {
    key: 'enableControllerAttachDetach',
    group: 'Volumes',
    type: 'bool',
    default: true,
    inFile: true,
    flags: [{ name: 'enable-controller-attach-detach', deprecated: 'config-file', inSpec: true }],
    acted: true,
    help: 'Leave attaching volumes to the controller.',
  },
  {
    key: 'experimentalMounterPath',
    group: 'Volumes',
    type: 'string',
    default: 'mount',
    flags: [{ name: 'experimental-mounter-path', deprecated: 'removal', inSpec: true }],
    acted: true,
    help: 'Mount program; the default is found through PATH.',
  },
  {
    key: 'experimentalCheckNodeCapabilitiesBeforeMount',
    group: 'Volumes',
    type: 'bool',
    default: false,
    flags: [
      { name: 'experimental-check-node-capabilities-before-mount', deprecated: 'removal', removedIn: '1.23' },
    ],
    acted: true,
    help: 'Check that the node has the components that a mount needs before it is attempted.',
  },
];
