//! A statement as the SDK, EAS and a contract of a lender see it.

use alloy::{
    primitives::{Address, B256, Bytes, U256, keccak256},
    sol,
    sol_types::{SolCall, SolError, SolValue},
};
use assay_tests::{
    devnet::actors,
    lenders::{Small, stubs},
    people::eas,
    service::{Service, plugins},
    until::until,
};
use serde_json::{Value, json};

use super::{
    ATTESTER, Filed,
    lasting::{CHAIN, config},
    run, second, signing,
};

sol! {
    struct Statement { address recipient; uint64 time; uint64 expirationTime; bytes data; bytes32 salt; }
    struct Policy {
        address eas; bytes32 easVersion; address signer; uint16 minimumScore; uint64 maximumAge; bytes32 modelDigest;
    }
    function open(Statement statement, bytes signature) external returns (uint256 limit);
    function checked(Statement statement, bytes signature, Policy policy) external view returns (uint256);
    function bare(Statement statement, bytes signature, Policy policy) external view returns (uint256);
    function limits(address borrower) external view returns (uint256);
    error NotYours(address recipient);
    error NotYet(uint64 time);
    error Expired(uint64 expirationTime);
    error WrongSigner();
    error ScoreTooLow(uint256 score, uint16 minimum);
    error TooOld(uint256 asOf, uint64 maximumAge);
    error OtherModel(bytes32 modelDigest);

    function register(string schema, address resolver, bool revocable) external returns (bytes32);
    struct SchemaRecord { bytes32 uid; address resolver; bool revocable; string schema; }
    function getSchema(bytes32 uid) external view returns (SchemaRecord);
    struct AttestationRequestData {
        address recipient; uint64 expirationTime; bool revocable; bytes32 refUID; bytes data; uint256 value;
    }
    struct AttestationRequest { bytes32 schema; AttestationRequestData data; }
    function attest(AttestationRequest request) external payable returns (bytes32);
    function timestamp(bytes32 data) external returns (uint64);
    function getTimestamp(bytes32 data) external view returns (uint64);
}

/// The arguments of the contract.
fn parts(statement: &Value) -> (Statement, Bytes) {
    let (message, signature) = (&statement["sig"]["message"], &statement["sig"]["signature"]);
    let hash = |value: &Value| value.as_str().expect("hex").parse::<B256>().expect("32 bytes");
    let parsed = Statement {
        recipient: message["recipient"].as_str().expect("an address").parse().expect("an address"),
        time: message["time"].as_u64().expect("a time"),
        expirationTime: message["expirationTime"].as_u64().expect("a time"),
        data: message["data"].as_str().expect("hex").parse().expect("bytes"),
        salt: hash(&message["salt"]),
    };
    let v = u8::try_from(signature["v"].as_u64().expect("a number")).expect("a byte");
    (parsed, [hash(&signature["r"]).as_slice(), hash(&signature["s"]).as_slice(), &[v]].concat().into())
}

/// What a call by `from` returns, or how it reverts.
async fn call<C: SolCall>(chain: &Small, from: Address, to: Address, call: &C) -> Result<C::Return, String> {
    let ask = json!([{ "from": from, "to": to, "data": Bytes::from(call.abi_encode()) }, "latest"]);
    let answer = chain.rpc.request::<Bytes>("eth_call", ask).await.map_err(|error| error.to_string())?;
    C::abi_decode_returns(&answer).map_err(|error| error.to_string())
}

#[track_caller]
fn reverted<E: SolError>(found: Result<U256, String>) {
    let said = found.expect_err("a contract that refuses");
    assert!(said.contains(&alloy::hex::encode(E::SELECTOR)), "{}: {said}", E::SIGNATURE);
}

/// 1,000, or 3 where the test is to be quick.
fn crowd() -> usize {
    if std::env::var_os("ASSAY_SOAK").is_some() { 1_000 } else { 3 }
}

#[test]
fn many_statements_are_verified_by_the_command_the_second_verifier_and_a_contract() {
    run(async {
        let mut chain = Small::start(CHAIN).await.expect("a chain");
        let (deployed, code) =
            (eas::deploy(&mut chain).await.expect("EAS"), stubs("Statements.sol").await.expect("code"));
        let wallets: Vec<_> = (0..crowd()).map(|n| actors::address(&format!("wallet {n}"))).collect();
        for (n, wallet) in wallets.iter().enumerate() {
            let value = U256::from(n + 1) * U256::from(1_000_000_000_000_u64);
            chain.queue_payment(*wallet, actors::address("another"), value).await.expect("the node answers");
        }
        chain.mine().await.expect("a block");
        let gas = chain.create(code["Gas"].clone(), "a meter");
        chain.mine().await.expect("a block");
        let settings = config(&plugins(), chain.url(), &signing(ATTESTER, CHAIN, deployed.service));
        let service = Service::start(&settings);
        let mut filed = Vec::new();
        for wallet in wallets {
            filed.push(Filed::of(&service, wallet, "1.1").await);
        }
        chain.arrive().await.expect("a block of now");
        let signer = actors::address(ATTESTER);
        for one in &filed {
            one.verify(&[]).agrees(&["signature", "signer", "evidence", "model"]);
            one.verify(&["--config", &one.config(&settings)]).agrees(&["model", "chains"]);
            let (statement, signature) = parts(&one.statement);
            let policy = Policy {
                eas: deployed.service,
                easVersion: keccak256("1.4.0"),
                signer,
                minimumScore: 300,
                maximumAge: 86_400,
                modelDigest: B256::ZERO,
            };
            call(&chain, signer, gas, &checkedCall { statement, signature, policy }).await.expect("it is accepted");
        }
        let both: Vec<_> = filed.iter().map(|one| (&one.statement, &one.evidence)).collect();
        let said = second(&filed[0].path("signers"), &filed[0].path("component"), &both);
        assert_eq!(said, vec!["ok"; both.len()]);
        println!("{} statements are verified by all", both.len());
    });
}

#[test]
fn a_contract_accepts_what_the_signer_says_and_names_what_it_refuses() {
    run(async {
        let mut chain = Small::start(CHAIN).await.expect("a chain");
        let (deployed, code) =
            (eas::deploy(&mut chain).await.expect("EAS"), stubs("Statements.sol").await.expect("code"));
        let (wallet, signer) = (actors::address("a wallet"), actors::address(ATTESTER));
        for _ in 0..3 {
            chain.queue_payment(wallet, actors::address("another"), U256::from(1_000)).await.expect("the node answers");
            chain.mine().await.expect("a block");
        }
        let service = Service::start(&config(&plugins(), chain.url(), &signing(ATTESTER, CHAIN, deployed.service)));
        let one = Filed::of(&service, wallet, "1.1").await;
        let model: B256 = one.evidence["model"]["digest"].as_str().expect("hex").parse().expect("32 bytes");
        let mut line = |version: &str, by: Address, minimum: u16, model: B256| {
            let arguments = (deployed.service, version.to_owned(), by, minimum, model).abi_encode_params();
            chain.create([code["CreditLine"].as_ref(), &arguments].concat(), "a credit line")
        };
        let lender = line("1.4.0", signer, 300, model);
        let (other_version, any_model) = (line("1.3.0", signer, 300, model), line("1.4.0", signer, 300, B256::ZERO));
        let (stranger, proud) = (line("1.4.0", wallet, 300, model), line("1.4.0", signer, 1_000, model));
        let picky = line("1.4.0", signer, 300, B256::repeat_byte(1));
        let office = chain.create([code["Office"].as_ref(), &signer.abi_encode()].concat(), "an office");
        let arguments = (deployed.service, "1.4.0".to_owned(), office, 300_u16, model).abi_encode_params();
        let by_office = chain.create([code["CreditLine"].as_ref(), &arguments].concat(), "a credit line");
        let gas = chain.create(code["Gas"].clone(), "a meter");
        // A statement for another chain, by the same signer.
        let elsewhere = signing(ATTESTER, CHAIN + 1, deployed.service);
        let elsewhere = Service::start(&config(&plugins(), chain.url(), &elsewhere));
        let (theirs, by) = parts(&Filed::of(&elsewhere, wallet, "1.1").await.statement);
        chain.arrive().await.expect("a block of now");

        let score = one.evidence["score"].as_u64().expect("a score");
        let (statement, signature) = parts(&one.statement);
        let open = |statement: &Statement, signature: &Bytes| openCall {
            statement: statement.clone(),
            signature: signature.clone(),
        };
        let good = open(&statement, &signature);
        for accepts in [lender, any_model, by_office] {
            let limit = call(&chain, wallet, accepts, &good).await.expect("a line of credit");
            assert_eq!(limit, U256::from((score - 300) * 100_000_000));
        }
        chain.queue(wallet, lender, &good);
        // Each block has its own second.
        let before = chain.now();
        until(async || chrono::Utc::now().timestamp().unsigned_abs(), |now| *now > before).await;
        chain.arrive().await.expect("a block");
        let limit = call(&chain, wallet, lender, &limitsCall { borrower: wallet }).await.expect("a limit");
        assert_eq!(limit, U256::from((score - 300) * 100_000_000));
        reverted::<OtherModel>(call(&chain, wallet, picky, &good).await);
        reverted::<ScoreTooLow>(call(&chain, wallet, proud, &good).await);
        reverted::<NotYours>(call(&chain, actors::address("another"), lender, &good).await);
        reverted::<WrongSigner>(call(&chain, wallet, other_version, &good).await);
        reverted::<WrongSigner>(call(&chain, wallet, stranger, &good).await);
        reverted::<WrongSigner>(call(&chain, wallet, lender, &open(&theirs, &by)).await);
        // Every bit of the statement and of the signature is signed.
        let flip = |bytes: &Bytes, at: usize| {
            let mut bytes = bytes.to_vec();
            bytes[at] ^= 1;
            Bytes::from(bytes)
        };
        for at in (0..statement.data.len()).step_by(31) {
            let data = flip(&statement.data, at);
            let changed = Statement { data, ..statement.clone() };
            reverted::<WrongSigner>(call(&chain, wallet, lender, &open(&changed, &signature)).await);
        }
        for changed in [
            Statement { time: statement.time - 1, ..statement.clone() },
            Statement { expirationTime: statement.expirationTime + 1, ..statement.clone() },
            Statement { salt: !statement.salt, ..statement.clone() },
            Statement { data: Bytes::new(), ..statement.clone() },
        ] {
            reverted::<WrongSigner>(call(&chain, wallet, lender, &open(&changed, &signature)).await);
        }
        for at in [0, 31, 32, 63, 64] {
            reverted::<WrongSigner>(call(&chain, wallet, lender, &open(&statement, &flip(&signature, at))).await);
        }
        let early = Statement { time: u64::MAX, ..statement.clone() };
        reverted::<NotYet>(call(&chain, wallet, lender, &open(&early, &signature)).await);
        let late = Statement { expirationTime: 1, ..statement.clone() };
        reverted::<Expired>(call(&chain, wallet, lender, &open(&late, &signature)).await);

        // The check costs little more than the recovery that it cannot do without.
        let policy = Policy {
            eas: deployed.service,
            easVersion: keccak256("1.4.0"),
            signer,
            minimumScore: 300,
            maximumAge: 86_400,
            modelDigest: model,
        };
        let (s, g) = (statement.clone(), signature.clone());
        let checked = checkedCall { statement: s.clone(), signature: g.clone(), policy: policy.clone() };
        let checked = call(&chain, wallet, gas, &checked).await.expect("gas").to::<u64>();
        let impatient = Policy { maximumAge: 0, ..policy.clone() };
        let impatient = checkedCall { statement: s.clone(), signature: g.clone(), policy: impatient };
        reverted::<TooOld>(call(&chain, wallet, gas, &impatient).await);
        let bare = bareCall { statement: s, signature: g, policy };
        let bare = call(&chain, wallet, gas, &bare).await.expect("gas").to::<u64>();
        println!("the check of a statement costs {checked} gas, a bare ecrecover {bare}");
        assert!(checked * 10 <= bare * 13, "{checked} {bare}");

        // The same content as an attestation on chain, by the schema that the server names, and its identity as a
        // timestamp.
        let schema = &one.signers["schema"];
        let uid: B256 = schema["uid"].as_str().expect("hex").parse().expect("32 bytes");
        let text = schema["text"].as_str().expect("a text").to_owned();
        let register = registerCall { schema: text.clone(), resolver: Address::ZERO, revocable: false };
        chain.call(signer, deployed.schemas, &register).await.expect("a schema");
        let found = call(&chain, wallet, deployed.schemas, &getSchemaCall { uid }).await.expect("a record");
        assert_eq!((found.uid, found.schema), (uid, text));
        let data = AttestationRequestData {
            recipient: statement.recipient,
            expirationTime: u64::MAX,
            revocable: false,
            refUID: B256::ZERO,
            data: statement.data.clone(),
            value: U256::ZERO,
        };
        let request = AttestationRequest { schema: uid, data };
        chain.call(signer, deployed.service, &attestCall { request }).await.expect("an attestation");
        let own: B256 = one.statement["sig"]["uid"].as_str().expect("hex").parse().expect("32 bytes");
        chain.call(wallet, deployed.service, &timestampCall { data: own }).await.expect("a timestamp");
        let at = call(&chain, wallet, deployed.service, &getTimestampCall { data: own }).await.expect("a time");
        assert_eq!(at, chain.now());
    });
}
