/** Name formats that several groups share. Each function returns the reasons why a name is invalid. */
import { dns1123SubdomainErrors } from '#api/meta/names.ts';

type Reasons = readonly string[];

/** Validates a path segment: the only restriction on names of RBAC and request kinds. */
export function pathSegmentErrors(text: string): Reasons {
  if (text === '.' || text === '..') return [`may not be '${text}'`];
  return ['/', '%'].filter((mark) => text.includes(mark)).map((mark) => `may not contain '${mark}'`);
}

/** A name in a domain with at least three parts: `a.example.com`. */
export function fullyQualifiedNameErrors(text: string): Reasons {
  const reasons = dns1123SubdomainErrors(text);
  if (reasons.length > 0) return reasons;
  return text.split('.').length < 3
    ? ['should be a domain with at least three segments separated by dots']
    : [];
}

/** A domain, then a path: `example.com/controller`. */
export function domainPathErrors(text: string): Reasons {
  const slash = text.indexOf('/');
  if (slash < 0 || slash === text.length - 1) {
    return ["must be a domain-prefixed path (such as 'example.com/foo')"];
  }
  const domain = dns1123SubdomainErrors(text.slice(0, slash));
  const isPath = /^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/.test(text.slice(slash + 1));
  return isPath ? domain : [...domain, 'the path has characters that no path has'];
}

/** A host name that may start with `*.`. */
export function wildcardSubdomainErrors(text: string): Reasons {
  return dns1123SubdomainErrors(text.startsWith('*.') ? text.slice(2) : text);
}
