/** Descriptions of networking kinds. Data. */
import type { Texts } from './texts.ts';

export const NETWORKING_TEXTS: Texts = {
  'networking/v1.Ingress': {
    is: 'Rules that route external HTTP requests to services. An ingress controller implements them.',
  },
  'networking/v1.IngressSpec': {
    members: {
      ingressClassName:
        'Name of the ingress class, which selects the controller. If absent, admission sets the class that is marked as the default.',
      defaultBackend:
        'Backend for requests that match no rule. If absent, the controller decides. Required if there are no rules.',
      tls: 'Certificates, selected by host name during the TLS handshake. If empty, the ingress serves no TLS.',
      rules: 'Routing rules by host. If empty, all requests go to defaultBackend.',
    },
  },
  'networking/v1.IngressRule': {
    is: 'Routing rules for one host.',
    members: {
      host: 'Fully qualified domain name, without a port. A leading *. matches exactly one DNS label. If empty, the rule matches every host.',
      http: 'Paths and their backends. If absent, requests for the host go to the default backend.',
    },
  },
  'networking/v1.HTTPIngressPath': {
    is: 'Backend for the requests that match one path.',
    members: {
      path: 'Path to match. Must begin with / for the path types Exact and Prefix.',
      pathType:
        'Interpretation of the path. Exact: case-sensitive equality. Prefix: equality of the leading path elements. ImplementationSpecific: up to the ingress class.',
      backend: 'Backend that receives the requests.',
    },
  },
  'networking/v1.IngressBackend': {
    is: 'Destination of requests: either a service or another object of the same namespace.',
    members: {
      service: 'Service and port. Cannot be combined with resource.',
      resource: 'Another object of the same namespace. Cannot be combined with service.',
    },
  },
  'networking/v1.IngressServiceBackend': {
    members: {
      name: 'Name of the service, in the same namespace.',
      port: 'Port of the service, by name or by number.',
    },
  },
  'networking/v1.ServiceBackendPort': {
    is: 'Port of a service. Either a name or a number is required.',
    members: {
      name: 'Name of the port. Cannot be combined with number.',
      number: 'Number of the port. Cannot be combined with name.',
    },
  },
  'networking/v1.IngressTLS': {
    members: {
      hosts:
        'Host names of the certificate. If empty, the certificate applies to every host that the controller serves.',
      secretName:
        'Secret that holds the certificate and its key, in the same namespace. If empty, TLS is routed by host name only.',
    },
  },
  'networking/v1.NetworkPolicy': {
    is: 'Network traffic that is allowed for a set of pods. Policies are additive: traffic is allowed if at least one policy allows it, or if no policy selects the pod for its direction.',
  },
  'networking/v1.NetworkPolicySpec': {
    members: {
      podSelector:
        'Pods of the namespace that the policy applies to. An empty selector matches all pods of the namespace.',
      ingress:
        'Rules for allowed incoming traffic. Traffic that matches at least one rule is allowed. If empty or absent, a policy of type Ingress allows no incoming traffic.',
      egress:
        'Rules for allowed outgoing traffic. Traffic that matches at least one rule is allowed. If empty or absent, a policy of type Egress allows no outgoing traffic; a policy without this type does not restrict it.',
      policyTypes:
        'Directions that the policy applies to: Ingress, Egress or both. If absent, Ingress applies, and Egress if there are egress rules. A policy that only denies outgoing traffic therefore names Egress here.',
    },
  },
  'networking/v1.NetworkPolicyIngressRule': {
    is: 'Incoming traffic that matches both ports and from.',
    members: {
      ports:
        'Ports of the selected pods. One of them must match. If empty or absent, traffic to all ports matches.',
      from: 'Sources. One of them must match. If empty or absent, traffic from all sources matches.',
    },
  },
  'networking/v1.NetworkPolicyEgressRule': {
    is: 'Outgoing traffic that matches both ports and to.',
    members: {
      ports:
        'Ports of the destinations. One of them must match. If empty or absent, traffic to all ports matches.',
      to: 'Destinations. One of them must match. If empty or absent, traffic to all destinations matches.',
    },
  },
  'networking/v1.NetworkPolicyPeer': {
    is: 'Set of pods, selected by pod labels, namespace labels or both, or a range of IP addresses.',
    members: {
      podSelector:
        'Labels of the pods: in the namespaces that namespaceSelector matches or, without it, in the namespace of the policy. An empty selector matches all pods. If absent, all pods of the selected namespaces match.',
      namespaceSelector:
        'Labels of the namespaces. An empty selector matches all namespaces. If absent, podSelector applies to the namespace of the policy.',
      ipBlock: 'Range of IP addresses. Cannot be combined with a selector.',
    },
  },
  'networking/v1.NetworkPolicyPort': {
    members: {
      protocol: 'IP protocol: TCP, UDP or SCTP. Defaults to TCP.',
      port: 'Number of the port, or name of a container port. If absent, all ports of the protocol match.',
      endPort: 'Last port of a range that begins with port. Requires a numeric port that is not greater.',
    },
  },
  'networking/v1.IPBlock': {
    is: 'Range of IP addresses with exceptions.',
    members: {
      cidr: 'IP address range in CIDR notation, such as 192.0.2.0/24 or 2001:db8::/64.',
      except: 'Ranges within cidr that do not match.',
    },
  },
  'networking/v1.IngressClass': {
    is: 'Class of ingresses that one controller implements. An annotation marks one class as the default.',
  },
  'discovery/v1.EndpointSlice': {
    is: 'Subset of the endpoints of a service. A label refers to the service; several slices may belong to it.',
    members: {
      addressType: 'Type of all addresses in the slice: IPv4, IPv6 or FQDN. Cannot be changed.',
      endpoints: 'Endpoints, at most 1000.',
      ports: 'Ports of every endpoint in the slice, at most 100. If empty, no ports are defined.',
    },
  },
  'discovery/v1.Endpoint': {
    is: 'Logical backend of a service.',
    members: {
      addresses: 'Addresses of the endpoint, 1 to 100, all equivalent. Consumers may use the first one only.',
      conditions: 'Current state of the endpoint.',
      hostname: 'Host name of the endpoint, a DNS label, which distinguishes it from others in DNS.',
      targetRef: 'Object that the endpoint represents, usually a pod.',
      nodeName: 'Name of the node that hosts the endpoint.',
      zone: 'Name of the zone of the endpoint.',
      hints: 'Zones whose clients should use the endpoint.',
    },
  },
  'discovery/v1.EndpointConditions': {
    members: {
      ready:
        'Whether the endpoint accepts traffic. Not true for terminating endpoints, unless the service publishes addresses that are not ready. Consumers treat an absent value as true.',
      serving:
        'Readiness of the endpoint regardless of its termination: true for a terminating pod that still passes its readiness probe. If absent, consumers use ready.',
      terminating: 'Whether the endpoint is being terminated. Consumers treat an absent value as false.',
    },
  },
  'core/v1.Endpoints': {
    is: 'Addresses of the endpoints of a service with the same name.',
    members: {
      subsets: 'Sets of addresses with common ports. An address with different ports is in several subsets.',
    },
  },
  'core/v1.EndpointSubset': {
    is: 'Addresses with common ports. The endpoints are all combinations of an address and a port.',
    members: {
      addresses: 'Addresses that accept traffic.',
      notReadyAddresses: 'Addresses that do not accept traffic because their pods are not ready.',
      ports: 'Ports of every address in the subset.',
    },
  },
  'core/v1.EndpointAddress': {
    members: {
      ip: 'IP address. Loopback, link-local and multicast addresses are not allowed.',
      hostname: 'Host name of the endpoint, a DNS label.',
      nodeName: 'Name of the node that hosts the endpoint.',
      targetRef: 'Object that the endpoint represents, usually a pod.',
    },
  },
};
