/** Settings of the audit. */
import { MAX_COUNT, type SettingsOf } from './setting.ts';

export interface AuditConfig {
  readonly auditLogPath: string;
  readonly auditPolicyFile: string;
  readonly auditLogMaxsize: number;
  readonly auditLogMaxbackup: number;
  readonly auditLogMaxage: number;
}

export const AUDIT: SettingsOf<AuditConfig> = {
  auditLogPath: {
    flag: 'audit-log-path',
    type: 'string',
    default: '',
    group: 'Audit',
    help: 'file for audit events; - for standard output',
  },
  auditPolicyFile: {
    flag: 'audit-policy-file',
    type: 'string',
    default: '',
    group: 'Audit',
    help: 'audit policy that selects the recorded requests',
  },
  auditLogMaxsize: {
    flag: 'audit-log-maxsize',
    type: 'integer',
    default: 100,
    min: 0,
    max: MAX_COUNT,
    group: 'Audit',
    help: 'megabytes after which the file is rotated; 0: never',
  },
  auditLogMaxbackup: {
    flag: 'audit-log-maxbackup',
    type: 'integer',
    default: 10,
    min: 0,
    max: MAX_COUNT,
    group: 'Audit',
    help: 'rotated files to keep; 0: all',
  },
  auditLogMaxage: {
    flag: 'audit-log-maxage',
    type: 'integer',
    default: 0,
    min: 0,
    max: MAX_COUNT,
    group: 'Audit',
    help: 'days to keep rotated files; 0: forever',
  },
};
