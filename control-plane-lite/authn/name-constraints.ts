/** Checks the names of a certificate against the name constraints of the CAs above it. Pure. Source: RFC
 *  5280, 4.2.1.10; Go's crypto/x509, which upstream uses. */
import type { GeneralName, NameConstraints } from './certificate-limits.ts';

/** Labels from right to left; `undefined` if it is not a domain. */
function labelsOf(domain: string): readonly string[] | undefined {
  const labels = domain.toLowerCase().split('.');
  return labels.every((label) => /^[!-~]+$/.test(label)) ? labels.toReversed() : undefined;
}

/** `example.com` is itself and all below, `.example.com` all below; empty: everything. */
function isInDomain(domain: string, constraint: string): boolean | undefined {
  const labels = labelsOf(domain);
  if (labels === undefined) return undefined;
  if (constraint === '') return true;
  const belowOnly = constraint.startsWith('.');
  const wanted = labelsOf(belowOnly ? constraint.slice(1) : constraint);
  if (wanted === undefined) return undefined;
  if (labels.length < wanted.length || (belowOnly && labels.length === wanted.length)) return false;
  return wanted.every((label, index) => labels[index] === label);
}

function isInRange(address: Buffer, range: Buffer): boolean | undefined {
  if (range.length !== 8 && range.length !== 32) return undefined;
  const half = range.length / 2;
  if (address.length !== half) return false;
  return address.every((byte, index) => {
    const mask = range[half + index] ?? 0;
    return (byte & mask) === ((range[index] ?? 0) & mask);
  });
}

function isMailbox(address: string, constraint: string): boolean | undefined {
  const at = address.lastIndexOf('@');
  if (at <= 0) return undefined;
  const [local, domain] = [address.slice(0, at), address.slice(at + 1)];
  const wantedAt = constraint.lastIndexOf('@');
  if (wantedAt < 0) return isInDomain(domain, constraint);
  const [wantedLocal, wantedDomain] = [constraint.slice(0, wantedAt), constraint.slice(wantedAt + 1)];
  return local === wantedLocal && domain.toLowerCase() === wantedDomain.toLowerCase();
}

function isAtHost(uri: string, constraint: string): boolean | undefined {
  const host = URL.parse(uri)?.hostname ?? '';
  // Host constraints do not apply to IP addresses.
  if (host === '' || host.startsWith('[') || /^[\d.]+$/.test(host)) return undefined;
  return isInDomain(host, constraint);
}

/** `undefined` if it cannot be decided. */
function matches(name: GeneralName, constraint: GeneralName): boolean | undefined {
  const [text, wanted] = [name.value.toString('latin1'), constraint.value.toString('latin1')];
  switch (name.kind) {
    case 'dns':
      return isInDomain(text, wanted);
    case 'email':
      return isMailbox(text, wanted);
    case 'uri':
      return isAtHost(text, wanted);
    case 'ip':
      return isInRange(name.value, constraint.value);
    default:
      return name.kind satisfies never;
  }
}

/** Reports whether all names are allowed. An undecidable name is not. */
export function keepsConstraints(
  names: readonly GeneralName[],
  { permitted, excluded }: NameConstraints,
): boolean {
  return names.every((name) => {
    const ofKind = ({ kind }: GeneralName): boolean => kind === name.kind;
    if (excluded.filter(ofKind).some((each) => matches(name, each) !== false)) return false;
    const allowed = permitted.filter(ofKind).map((each) => matches(name, each));
    return allowed.length === 0 || (!allowed.includes(undefined) && allowed.includes(true));
  });
}
