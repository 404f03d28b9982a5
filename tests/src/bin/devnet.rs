//! The `devnet` binary.

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let t = std::time::Instant::now();
    let d = assay_tests::devnet::Devnet::start(|p| {
        if p.done % 100 == 0 || p.done == p.total {
            eprintln!("{p:?}")
        }
    })
    .await?;
    println!("{:?}", t.elapsed());
    for c in d.chains() {
        println!("{} {} {:?}", c.id, c.url(), c.head().await?);
    }
    if std::env::args().nth(1).is_some() {
        tokio::signal::ctrl_c().await?;
    }
    Ok(())
}
