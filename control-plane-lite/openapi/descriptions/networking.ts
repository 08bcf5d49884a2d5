/** Descriptions of networking kinds. Data. */
import type { Texts } from './texts.ts';

export const NETWORKING_TEXTS: Texts = {
  'networking/v1.Ingress': { is: 'Rules by which HTTP requests from outside reach services.' },
  'networking/v1.IngressSpec': {
    members: {
      ingressClassName: 'Class of the controller that is to carry it out.',
      defaultBackend: 'Where requests go that no rule fits.',
      tls: 'Certificates, by host.',
      rules: 'Where requests go.',
    },
  },
  'networking/v1.IngressRule': {
    is: 'Where requests for one host go.',
    members: { host: 'Domain name; *. at its start stands for one label. Default: all.', http: 'Its paths.' },
  },
  'networking/v1.HTTPIngressPath': {
    is: 'Where requests for one path go.',
    members: {
      path: 'The path.',
      pathType: 'Exact, Prefix or ImplementationSpecific.',
      backend: 'Where they go.',
    },
  },
  'networking/v1.IngressBackend': {
    is: 'A service, or another object of the namespace.',
    members: { service: 'The service.', resource: 'Another object.' },
  },
  'networking/v1.IngressServiceBackend': {
    members: { name: 'Name of the service.', port: 'Port of the service.' },
  },
  'networking/v1.ServiceBackendPort': {
    is: 'A port of a service, by name or by number.',
    members: { name: 'Its name.', number: 'Its number.' },
  },
  'networking/v1.IngressTLS': {
    members: { hosts: 'Hosts of the certificate.', secretName: 'Secret with certificate and key.' },
  },
  'networking/v1.NetworkPolicy': { is: 'With whom pods may speak.' },
  'networking/v1.NetworkPolicySpec': {
    members: {
      podSelector: 'Pods that it is about; empty for all of the namespace.',
      ingress: 'What may come in. Empty: nothing.',
      egress: 'What may go out. Empty: nothing.',
      policyTypes: 'Directions that it is about: Ingress, Egress.',
    },
  },
  'networking/v1.NetworkPolicyIngressRule': {
    members: { ports: 'Ports of the pods. Empty: all.', from: 'Who may come in. Empty: everybody.' },
  },
  'networking/v1.NetworkPolicyEgressRule': {
    members: { ports: 'Ports of the peers. Empty: all.', to: 'Where one may go. Empty: everywhere.' },
  },
  'networking/v1.NetworkPolicyPeer': {
    is: 'Pods, or a range of addresses.',
    members: {
      podSelector: 'Labels of the pods.',
      namespaceSelector: 'Labels of their namespaces. Default: the namespace of the policy.',
      ipBlock: 'A range of addresses; nothing else may be given then.',
    },
  },
  'networking/v1.NetworkPolicyPort': {
    members: {
      protocol: 'TCP (default), UDP or SCTP.',
      port: 'Number or name. Default: all.',
      endPort: 'Last number of a range that begins with port.',
    },
  },
  'networking/v1.IPBlock': {
    is: 'A range of addresses.',
    members: { cidr: 'The range: 192.0.2.0/24.', except: 'Ranges inside of it that do not count.' },
  },
  'networking/v1.IngressClass': { is: 'A controller for ingresses.' },
  'discovery/v1.EndpointSlice': {
    is: 'Some of the addresses that stand behind a service.',
    members: {
      addressType: 'IPv4, IPv6 or FQDN. Cannot be changed.',
      endpoints: 'The addresses.',
      ports: 'Ports of every address.',
    },
  },
  'discovery/v1.Endpoint': {
    is: 'Who answers at some addresses.',
    members: {
      addresses: 'The addresses.',
      conditions: 'Whether it can be used now.',
      hostname: 'Its host name.',
      targetRef: 'The object that it is, mostly a pod.',
      nodeName: 'Node that it is on.',
      zone: 'Zone that it is in.',
      hints: 'Who should use it.',
    },
  },
  'discovery/v1.EndpointConditions': {
    members: {
      ready: 'It takes requests.',
      serving: 'It answers, even while it is ending.',
      terminating: 'It is ending.',
    },
  },
  'core/v1.Endpoints': {
    is: 'The addresses that stand behind a service.',
    members: { subsets: 'Addresses, with the ports that they have in common.' },
  },
  'core/v1.EndpointSubset': {
    members: {
      addresses: 'Addresses that take requests.',
      notReadyAddresses: 'Addresses that do not yet, or no longer.',
      ports: 'Ports of every address.',
    },
  },
  'core/v1.EndpointAddress': {
    members: {
      ip: 'The address.',
      hostname: 'Its host name.',
      nodeName: 'Node that it is on.',
      targetRef: 'The object that it is of, mostly a pod.',
    },
  },
};
