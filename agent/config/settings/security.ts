/** Kernel parameters of pods and node, and seccomp profiles. */
import type { Setting } from '../setting.ts';

export const SECURITY_SETTINGS: readonly Setting[] = [
  {
    key: 'allowedUnsafeSysctls',
    group: 'Security',
    type: 'strings',
    default: [],
    inFile: true,
    flags: [{ name: 'allowed-unsafe-sysctls', deprecated: 'config-file', inSpec: true }],
    acted: true,
    help: 'Sysctls beyond the safe ones that pods may set; a pattern ends in *.',
  },
  {
    key: 'protectKernelDefaults',
    group: 'Security',
    type: 'bool',
    default: false,
    inFile: true,
    flags: [{ name: 'protect-kernel-defaults', deprecated: 'config-file' }],
    acted: true,
    help: 'Fail in place of changing kernel parameters that differ from the required values.',
  },
  {
    key: 'seccompProfileRoot',
    group: 'Security',
    type: 'string',
    default: '/var/lib/nodeagent/seccomp',
    flags: [{ name: 'seccomp-profile-root', deprecated: 'removal', removedIn: '1.23' }],
    isPath: true,
    acted: true,
    help: 'Directory of seccomp profiles.',
  },
];
