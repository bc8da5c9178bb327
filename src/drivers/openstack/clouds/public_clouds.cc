#include "drivers/openstack/clouds/public_clouds.h"

namespace nodepool::drivers::openstack {

std::string_view public_clouds() {
  return R"(
public-clouds:
  auro:
    auth:
      auth_url: https://api.van2.auro.io:5000/v3
      user_domain_name: Default
      project_domain_name: Default
    region_name: RegionOne
  binero:
    auth: {auth_url: 'https://auth.binero.cloud:5000/v3'}
    regions: [europe-se-1]
  citycloud:
    auth: {auth_url: 'https://{region_name}.citycloud.com:5000/v3'}
    regions: [Buf1, Fra1, Sto2, Kna1, dx1, tky1]
    image_format: raw
  dreamcompute:
    auth: {auth_url: 'https://iad2.dream.io:5000'}
    region_name: RegionOne
    image_format: raw
  elastx:
    auth: {auth_url: 'https://ops.elastx.cloud:5000/v3'}
    region_name: se-sto
  entercloudsuite:
    auth: {auth_url: 'https://api.entercloudsuite.com'}
    regions: [it-mil1, nl-ams1, de-fra1]
  limestonenetworks:
    auth: {auth_url: 'https://auth.cloud.lstn.net:5000/v3'}
    image_format: raw
    regions:
      - name: us-dfw-1
        values:
          networks:
            - {name: Public Internet, routes_externally: true, nat_source: true,
               default_interface: true}
            - {name: DDoS Protected, routes_externally: true}
            - {name: Private Network (10.0.0.0/8 only)}
            - {name: Private Network (Floating Public), nat_destination: true}
      - name: us-slc
        values:
          networks:
            - {name: Public Internet, routes_externally: true, nat_source: true,
               default_interface: true}
            - {name: Private Network (10.0.0.0/8 only)}
            - {name: Private Network (Floating Public), nat_destination: true}
  otc:
    auth: {auth_url: 'https://iam.{region_name}.otc.t-systems.com/v3'}
    regions: [eu-de, eu-nl]
  otc-swiss:
    auth: {auth_url: 'https://iam-pub.eu-ch2.sc.otc.t-systems.com/v3'}
    regions: [eu-ch2]
  ovh:
    auth:
      auth_url: https://auth.cloud.ovh.net
      user_domain_name: Default
      project_domain_name: Default
    floating_ip_source: None
  ovh-us:
    auth:
      auth_url: https://auth.cloud.ovh.us
      user_domain_name: Default
      project_domain_name: Default
    regions: [US-EAST-VA-1, US-WEST-OR-1, US-EAST-VA, US-WEST-OR]
    floating_ip_source: None
  switchcloud:
    auth: {auth_url: 'https://identity.compute.cloud.switch.ch/v3'}
    regions: [zhw, zhc]
    image_format: raw
  switchengines:
    auth: {auth_url: 'https://keystone.cloud.switch.ch:5000/v3'}
    regions: [LS, ZH]
    image_format: raw
  vexxhost:
    auth: {auth_url: 'https://auth.vexxhost.net/v3'}
    auth_type: v3password
    image_format: raw
    floating_ip_source: None
  zetta:
    auth: {auth_url: 'https://identity.api.zetta.io/v3'}
    regions: [no-osl1]
)";
}

}  // namespace nodepool::drivers::openstack
