//! Hosts behind the shipped proxy.

use assay_tests::{
    nginx::Nginx,
    service::{Service, counting_together, plugins, sandbox_config},
};
use reqwest::Method;

use super::{SANDBOX, run};

/// The setting with which a host trusts the proxy of the tests; [`super::killed`] uses it too.
pub(super) const TRUSTING: &str = "[http]\ntrusted_proxies = [\"127.0.0.1\"]\n";

#[test]
fn callers_behind_the_shipped_proxy_are_told_apart_whatever_they_say() {
    run(async {
        let config = sandbox_config(&plugins()).replace("address_rate = 0", "address_rate = 2");
        let config = counting_together(&config) + TRUSTING;
        let host = Service::start(&config);
        let proxy = Nginx::start(&[host.address()]);
        let from = async |client: [u8; 4], forwarded: &str| {
            let http = reqwest::Client::builder()
                .no_proxy()
                .local_address(std::net::IpAddr::from(client))
                .build()
                .expect("an HTTP client");
            let request =
                http.request(Method::GET, format!("{}{SANDBOX}", proxy.base)).header("x-forwarded-for", forwarded);
            request.send().await.expect("the proxy answers").status().as_u16()
        };
        // An address that a client invents in `X-Forwarded-For` is ignored, and does not use up the rate of another
        // client.
        for (client, forwarded, status) in [
            ([127, 0, 0, 2], "198.51.100.1", 401),
            ([127, 0, 0, 2], "198.51.100.2", 401),
            ([127, 0, 0, 2], "198.51.100.3", 429),
            ([127, 0, 0, 3], "127.0.0.2", 401),
            ([127, 0, 0, 3], "127.0.0.2", 401),
            ([127, 0, 0, 3], "127.0.0.2", 429),
        ] {
            assert_eq!(from(client, forwarded).await, status, "{client:?} {forwarded}");
        }
        let hidden = reqwest::get(format!("{}/metrics", proxy.base)).await.expect("the proxy answers");
        assert_eq!(hidden.status(), 404);
    });
}
