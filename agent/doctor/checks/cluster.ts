/** Checks of a joined node: API server reachable, certificates valid. */
import { X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { asError } from '#api/kit/errno.ts';
import type { Finding } from '../finding.ts';
import type { Machine } from '../machine.ts';

const JOIN_AGAIN = 'join again: nodeagent leave, then nodeagent join with a new token';

export async function checkServer(machine: Machine): Promise<readonly Finding[]> {
  const { platconfig } = machine.settings;
  if (platconfig === '') return [];
  const base = { area: 'cluster', subject: 'API server' } as const;
  if ((await machine.read(platconfig)) === undefined) {
    const advice = 'the node has not joined yet: check the log of the agent, or run nodeagent join';
    return [{ ...base, state: 'broken', detail: `no client configuration at ${platconfig}`, advice }];
  }
  try {
    return [{ ...base, ...(await machine.readServerInfo(machine.path(platconfig))) }];
  } catch (thrown) {
    const advice = 'pods keep running; changes on the API server do not reach the node';
    return [{ ...base, state: 'broken', detail: asError(thrown).message, advice }];
  }
}

const DAY_MS = 86_400_000;

/** Certificates of a node, with the advice for an expired one. */
const CERTIFICATES = [
  ['client certificate', 'nodeagent-client-current.pem', JOIN_AGAIN],
  [
    'serving certificate',
    'nodeagent-server-current.pem',
    'approve the certificate request: control-plane-lite csr list',
  ],
  ['cluster CA', 'cluster-ca.crt', JOIN_AGAIN],
] as const;

function dates(pem: string): { readonly fromMs: number; readonly untilMs: number } | undefined {
  try {
    const { validFrom, validTo } = new X509Certificate(pem);
    return { fromMs: Date.parse(validFrom), untilMs: Date.parse(validTo) };
  } catch {
    return undefined;
  }
}

/** Reports whether less lifetime remains than renewal ever leaves. */
const isLate = ({ fromMs, untilMs }: { fromMs: number; untilMs: number }, nowMs: number): boolean =>
  untilMs - nowMs < (untilMs - fromMs) / 20;

export const createCertificateCheck =
  (now: () => number) =>
  async (machine: Machine): Promise<readonly Finding[]> => {
    const { platconfig, certDir } = machine.settings;
    if (platconfig === '') return [];
    const findings: Finding[] = [];
    for (const [subject, name, advice] of CERTIFICATES) {
      const file = join(certDir, name);
      const pem = await machine.read(file);
      if (pem === undefined) continue;
      const base = { area: 'cluster', subject } as const;
      const found = dates(pem);
      if (found === undefined) {
        findings.push({ ...base, state: 'broken', detail: `${file} is not a certificate`, advice });
        continue;
      }
      const until = new Date(found.untilMs).toISOString().slice(0, 16).replace('T', ' ');
      const days = Math.floor((found.untilMs - now()) / DAY_MS);
      if (found.untilMs <= now()) {
        findings.push({ ...base, state: 'broken', detail: `expired on ${until}: ${file}`, advice });
      } else if (found.fromMs > now()) {
        const set = 'set the clock of this machine';
        findings.push({ ...base, state: 'broken', detail: `not valid yet: ${file}`, advice: set });
      } else {
        const state = isLate(found, now()) ? 'limited' : 'ok';
        const detail = `valid until ${until} UTC (${days} days)`;
        findings.push({
          ...base,
          state,
          detail,
          ...(state === 'ok' ? {} : { advice: 'renewal is overdue: check the log of the agent' }),
        });
      }
    }
    return findings;
  };
