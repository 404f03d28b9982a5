//! What the wallets do with vaults.

use alloy::primitives::{Address, Bytes, I256, U256};
use alloy::sol_types::SolCall;
use assay_tests::devnet::actors::address as wallet;
use assay_tests::lenders::Small;
use assay_tests::lenders::maker::{Account, Actions, Cat, Dog, Jug, Kind, Maker, Manager, Vat};

use super::super::Done;
use super::world::ETHER_USD;

/// Whole units with 18 decimals, of which some can be negative.
pub(super) fn whole(amount: i64) -> I256 {
    I256::try_from(i128::from(amount) * 1_000_000_000_000_000_000).unwrap()
}

/// The call of a proxy, as bytes.
pub(super) fn act(call: impl SolCall) -> Bytes {
    call.abi_encode().into()
}

pub(super) fn give(maker: &Maker, cdp: U256, usr: Address) -> Bytes {
    act(Actions::giveCall { manager: maker.manager, cdp, usr })
}

/// Opens a vault by the proxy of `owner`, fills it, and returns its number.
pub(super) async fn opened(
    chain: &mut Small,
    maker: &Maker,
    owner: &str,
    kind: Kind,
    amounts: (i64, i64),
) -> Result<U256, assay_tests::devnet::Error> {
    let proxy = maker.proxy(chain, wallet(owner)).await?;
    let cdp = maker.newest(chain).await? + U256::ONE;
    let open = act(Actions::openCall { manager: maker.manager, ilk: kind.ilk, usr: proxy });
    maker.by_proxy(chain, wallet(owner), vec![open]).await?;
    change(chain, maker, owner, cdp, amounts).await?;
    Ok(cdp)
}

/// Changes a vault by the proxy of `owner`.
pub(super) async fn change(chain: &mut Small, maker: &Maker, owner: &str, cdp: U256, amounts: (i64, i64)) -> Done {
    let proxy = maker.proxy(chain, wallet(owner)).await?;
    change_by(chain, maker, (owner, proxy), cdp, amounts).await
}

/// Changes a vault by a proxy that the registry does not know as that of `owner`.
pub(super) async fn change_by(
    chain: &mut Small,
    maker: &Maker,
    (owner, proxy): (&str, Address),
    cdp: U256,
    (collateral, debt): (i64, i64),
) -> Done {
    deposit(chain, maker, cdp, collateral).await?;
    let (dink, dart) = (whole(collateral), whole(debt));
    maker
        .by(chain, wallet(owner), proxy, vec![act(Actions::frobCall { manager: maker.manager, cdp, dink, dart })])
        .await
}

/// Collateral for the urn of a vault, to be added to it in the same block.
pub(super) async fn deposit(chain: &mut Small, maker: &Maker, cdp: U256, collateral: i64) -> Done {
    let urn = chain.view(maker.manager, &Manager::urnsCall { cdp }, chain.head).await?;
    let ilk = chain.view(maker.manager, &Manager::ilksCall { cdp }, chain.head).await?;
    let kind = if ilk == maker.ether.ilk { maker.ether } else { maker.bitcoin };
    if collateral > 0 {
        maker.queue_collateral(chain, kind, urn, whole(collateral));
    }
    Ok(())
}

/// The collateral is worth `price`, and the Dog takes this share of the vault; without a share, the Cat takes it.
pub(super) async fn seize(chain: &mut Small, maker: &Maker, cdp: U256, price: f64, percent: Option<u64>) -> Done {
    let urn = chain.view(maker.manager, &Manager::urnsCall { cdp }, chain.head).await?;
    let ilk = maker.ether.ilk;
    maker.queue_price(chain, maker.ether, price);
    match percent {
        Some(percent) => {
            chain.queue(wallet("keeper"), maker.dog, &Dog::barkCall { ilk, urn, percent: U256::from(percent) });
        }
        None => chain.queue(wallet("keeper"), maker.cat, &Cat::biteCall { ilk, urn }),
    }
    maker.queue_price(chain, maker.ether, ETHER_USD);
    chain.mine().await
}

pub(super) async fn live(chain: &mut Small, maker: &Maker) -> Done {
    let (ether, bitcoin) = (maker.ether, maker.bitcoin);
    // One vault, with every kind of event but a liquidation; one call is two events.
    let of_ada = opened(chain, maker, "ada", ether, (10, 8_000)).await?;
    change(chain, maker, "ada", of_ada, (0, -1_000)).await?;
    change(chain, maker, "ada", of_ada, (-1, 0)).await?;
    change(chain, maker, "ada", of_ada, (2, 500)).await?;
    chain.call(wallet("keeper"), maker.jug, &Jug::dripCall { ilk: ether.ilk }).await?;
    // A vault without a proxy.
    let owner = wallet("ben");
    chain.call(owner, maker.manager, &Manager::openCall { ilk: bitcoin.ilk, usr: owner }).await?;
    let of_ben = maker.newest(chain).await?;
    deposit(chain, maker, of_ben, 1).await?;
    chain.call(owner, maker.manager, &Manager::frobCall { cdp: of_ben, dink: whole(1), dart: whole(10_000) }).await?;
    // Liquidated in part and then whole.
    let of_cleo = opened(chain, maker, "cleo", ether, (10, 12_000)).await?;
    seize(chain, maker, of_cleo, 1_700.0, Some(40)).await?;
    change(chain, maker, "cleo", of_cleo, (1, 0)).await?;
    seize(chain, maker, of_cleo, 1_200.0, Some(100)).await?;
    // Given away with its debt, and used by both.
    let of_dora = opened(chain, maker, "dora", ether, (20, 9_000)).await?;
    change(chain, maker, "dora", of_dora, (0, -2_000)).await?;
    let to = maker.proxy(chain, wallet("emil")).await?;
    maker.by_proxy(chain, wallet("dora"), vec![give(maker, of_dora, to)]).await?;
    change(chain, maker, "emil", of_dora, (0, -3_000)).await?;
    change(chain, maker, "emil", of_dora, (-5, 0)).await?;
    // Two vaults, of which one moves into the other; and one that leaves the manager.
    let first = opened(chain, maker, "gus", ether, (5, 2_000)).await?;
    let second = opened(chain, maker, "gus", ether, (3, 1_000)).await?;
    opened(chain, maker, "gus", bitcoin, (1, 5_000)).await?;
    let shift = Actions::shiftCall { manager: maker.manager, cdpSrc: first, cdpOrg: second };
    maker.by_proxy(chain, wallet("gus"), vec![act(shift)]).await?;
    let of_frida = opened(chain, maker, "frida", ether, (4, 1_500)).await?;
    let frida = wallet("frida");
    let proxy = maker.proxy(chain, frida).await?;
    chain.queue(frida, maker.manager, &Manager::urnAllowCall { usr: proxy, ok: U256::ONE });
    chain.queue(frida, maker.vat, &Vat::hopeCall { usr: maker.manager });
    let quit = Actions::quitCall { manager: maker.manager, cdp: of_frida, dst: frida };
    maker.by_proxy(chain, frida, vec![act(quit)]).await?;
    // Into the urn of the proxy itself.
    let of_jim = opened(chain, maker, "jim", ether, (20, 5_000)).await?;
    let jim = maker.proxy(chain, wallet("jim")).await?;
    let hope = Actions::hopeCall { obj: maker.vat, usr: maker.manager };
    let quit = Actions::quitCall { manager: maker.manager, cdp: of_jim, dst: jim };
    maker.by_proxy(chain, wallet("jim"), vec![act(hope), act(quit)]).await?;
    // Closed.
    let of_hal = opened(chain, maker, "hal", bitcoin, (2, 7_000)).await?;
    change(chain, maker, "hal", of_hal, (0, -7_000)).await?;
    change(chain, maker, "hal", of_hal, (-2, 0)).await?;
    // In the Vat without a vault.
    let ivy = wallet("ivy");
    maker.queue_collateral(chain, ether, ivy, whole(2));
    let call = Vat::frobCall { i: ether.ilk, u: ivy, v: ivy, w: ivy, dink: whole(2), dart: whole(600) };
    chain.call(ivy, maker.vat, &call).await?;
    // A proxy that another wallet has now.
    opened(chain, maker, "kay", ether, (1, 200)).await?;
    let proxy = maker.proxy(chain, wallet("kay")).await?;
    chain.call(wallet("kay"), proxy, &Account::setOwnerCall { owner: wallet("somebody") }).await?;
    // Lent to another wallet, which borrows and repays, and given back.
    let of_lou = opened(chain, maker, "lou", ether, (10, 2_000)).await?;
    let [lou, mia] = [maker.proxy(chain, wallet("lou")).await?, maker.proxy(chain, wallet("mia")).await?];
    maker.by_proxy(chain, wallet("lou"), vec![give(maker, of_lou, mia)]).await?;
    change(chain, maker, "mia", of_lou, (0, 1_000)).await?;
    change(chain, maker, "mia", of_lou, (0, -1_000)).await?;
    maker.by_proxy(chain, wallet("mia"), vec![give(maker, of_lou, lou)]).await?;
    // A proxy with a debt, which the new owner changes.
    let of_nan = opened(chain, maker, "nan", ether, (10, 6_000)).await?;
    let proxy = maker.proxy(chain, wallet("nan")).await?;
    chain.call(wallet("nan"), proxy, &Account::setOwnerCall { owner: wallet("ned") }).await?;
    change_by(chain, maker, ("ned", proxy), of_nan, (0, -300)).await?;
    // Liquidated by the Cat, whose auctions are older.
    let of_ola = opened(chain, maker, "ola", ether, (10, 12_000)).await?;
    seize(chain, maker, of_ola, 1_700.0, None).await?;
    // All blocks above are settled.
    for _ in 0..40 {
        chain.mine().await?;
    }
    Ok(())
}
