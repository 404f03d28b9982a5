//! `peer GUEST WALLET`: for each line of standard input, a number of calls, each in a fresh plug-in. Answers with the
//! microseconds of a call and the score.

use std::{env, error::Error, fs, io, time::Instant};

use extism::{CompiledPlugin, Manifest, Plugin, PluginBuilder, Wasm};

fn main() -> Result<(), Box<dyn Error>> {
    let [guest, wallet]: [String; 2] =
        env::args().skip(1).collect::<Vec<_>>().try_into().map_err(|_| "peer GUEST WALLET")?;
    let wallet = fs::read_to_string(wallet)?;
    let manifest = Manifest::new([Wasm::data(fs::read(guest)?)]);
    let compiled = CompiledPlugin::new(PluginBuilder::new(manifest))?;
    for line in io::stdin().lines() {
        let calls: u32 = line?.trim().parse()?;
        let mut said = String::new();
        let started = Instant::now();
        for _ in 0..calls {
            let mut plugin = Plugin::new_from_compiled(&compiled)?;
            said = plugin.call("score", wallet.trim())?;
        }
        let took = started.elapsed().as_secs_f64() * 1e6 / f64::from(calls);
        let score = said.split("\"score\":").nth(1).and_then(|rest| rest.split(['}', ',']).next()).unwrap_or("0");
        println!("{took} {score}");
    }
    Ok(())
}
