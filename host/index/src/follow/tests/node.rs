//! A mock node: it serves synthetic events of one lending market, with a provider's limits and with faults on demand.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use alloy::primitives::{Bloom, U256, keccak256};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use assay_domain::{Address, B256};

pub(super) const POOL: Address = Address::repeat_byte(1);
const TOKEN: Address = Address::repeat_byte(2);
const HELPER: Address = Address::repeat_byte(3);
const ASSET: Address = Address::repeat_byte(4);
/// Blocks of the widest query.
const WIDEST: u64 = 100;

/// What the chain is now, and how the node misbehaves.
#[derive(Debug, Clone, Default)]
pub(super) struct Chain {
    pub head: u64,
    /// Blocks from here are of another branch.
    pub replaced: Option<u64>,
    /// Every so many-th answer with logs has none; 0 for none of them.
    pub forgets: usize,
    /// Log queries that were asked.
    pub queries: usize,
    pub receipts: usize,
    /// It keeps no receipts.
    pub pruned: bool,
    /// It answers nothing.
    pub fails: bool,
    /// Logs have the times of their blocks, so only checkpoints are asked for by number.
    pub timed: bool,
    /// Blocks that were asked for by number, and what is done with their count before each answer.
    pub asked: usize,
    pub on_asked: Option<fn(usize)>,
}

#[derive(Clone)]
pub(super) struct Node {
    pub url: String,
    pub chain: Arc<Mutex<Chain>>,
}

pub(super) fn wallet(number: u64) -> Address {
    Address::from_word(keccak256(number.to_be_bytes()))
}

fn word(number: u64) -> B256 {
    U256::from(number).into()
}

/// The time of a block, in hex.
fn time(block: u64) -> String {
    format!("{:#x}", 1_000_000 + block * 12)
}

impl Chain {
    fn hash(&self, block: u64) -> B256 {
        keccak256(format!("{block} {}", self.replaced.is_some_and(|from| block >= from)))
    }

    /// A supply, its transfer of tokens, and every third block a withdrawal by a gateway.
    fn logs(&self, block: u64) -> Vec<Value> {
        let salt = u64::from(self.replaced.is_some_and(|from| block >= from)) * 7;
        let owner = wallet((block * 31 + salt) % 40).into_word();
        let gateway = wallet(1_000).into_word();
        let transfer = keccak256("Transfer(address,address,uint256)");
        let supply = keccak256("Supply(address,address,address,uint256,uint16)");
        let withdraw = keccak256("Withdraw(address,address,address,uint256)");
        let asset = ASSET.into_word();
        let mut logs = vec![
            (TOKEN, vec![transfer, B256::ZERO, owner], vec![word(500)], 0),
            (POOL, vec![supply, asset, owner, B256::ZERO], vec![owner, word(500 + block), word(0)], 0),
        ];
        if block.is_multiple_of(3) {
            logs.push((TOKEN, vec![transfer, owner, gateway], vec![word(9)], 1));
            logs.push((TOKEN, vec![transfer, gateway, B256::ZERO], vec![word(9)], 1));
            logs.push((POOL, vec![withdraw, asset, gateway, owner], vec![word(9)], 1));
        }
        let log = |(index, (contract, topics, data, transaction)): (usize, (Address, Vec<B256>, Vec<B256>, u64))| {
            let data: Vec<u8> = data.iter().flat_map(|word| word.0).collect();
            let mut log = json!({
                "address": contract, "topics": topics, "data": format!("0x{}", hex::encode(data)),
                "blockHash": self.hash(block), "blockNumber": format!("{block:#x}"),
                "transactionHash": self.transaction(block, transaction), "transactionIndex": "0x0",
                "logIndex": format!("{index:#x}"), "removed": false,
            });
            if self.timed {
                log["blockTimestamp"] = time(block).into();
            }
            log
        };
        logs.into_iter().enumerate().map(log).collect()
    }

    /// Its last bytes are the number of the block.
    fn transaction(&self, block: u64, number: u64) -> B256 {
        let mut hash = keccak256(format!("{} {number}", self.hash(block)));
        hash[24..].copy_from_slice(&block.to_be_bytes());
        hash
    }

    fn block(&self, number: u64) -> Value {
        if number > self.head {
            return Value::Null;
        }
        let mut bloom = Bloom::ZERO;
        for log in self.logs(number) {
            let topics = log["topics"].as_array().unwrap().iter().chain([&log["address"]]);
            for word in topics {
                let bytes = hex::decode(word.as_str().unwrap().trim_start_matches("0x")).unwrap();
                bloom.accrue(alloy::primitives::BloomInput::Raw(&bytes));
            }
        }
        let transactions: BTreeSet<String> =
            self.logs(number).iter().map(|log| log["transactionHash"].as_str().unwrap().to_owned()).collect();
        json!({ "number": format!("{number:#x}"), "hash": self.hash(number), "logsBloom": bloom,
            "timestamp": time(number), "transactions": transactions })
    }

    fn logs_of(&mut self, filter: &Value) -> Result<Value, Value> {
        let number = |key: &str| u64::from_str_radix(&filter[key].as_str().unwrap()[2..], 16).unwrap();
        let (from, to) = (number("fromBlock"), number("toBlock"));
        if to - from >= WIDEST {
            return Err(json!({ "code": -32602, "message": format!("range exceeds limit of {WIDEST}") }));
        }
        self.queries += 1;
        let fits = |wanted: &Value, value: &Value| match wanted {
            Value::Null => true,
            Value::Array(list) => list.contains(value),
            one => one == value,
        };
        let asked = |log: &Value| {
            let topics = filter["topics"].as_array().unwrap();
            fits(&filter["address"], &log["address"])
                && topics.iter().enumerate().all(|(at, wanted)| wanted.is_null() || fits(wanted, &log["topics"][at]))
        };
        let logs: Vec<Value> = (from..=to.min(self.head)).flat_map(|block| self.logs(block)).filter(asked).collect();
        let forgotten = self.forgets > 0 && self.queries.is_multiple_of(self.forgets);
        Ok(if forgotten { json!([]) } else { logs.into() })
    }

    fn receipt(&mut self, hash: &Value) -> Value {
        self.receipts += 1;
        if self.pruned {
            return Value::Null;
        }
        let block = u64::from_str_radix(&hash.as_str().unwrap()[50..], 16).unwrap();
        let logs: Vec<Value> = self.logs(block).into_iter().filter(|log| log["transactionHash"] == *hash).collect();
        if !logs.is_empty() {
            return json!({ "transactionHash": hash, "blockHash": self.hash(block),
                "blockNumber": format!("{block:#x}"), "logs": logs });
        }
        Value::Null
    }

    fn answer(&mut self, method: &str, params: &Value) -> Result<Value, Value> {
        if self.fails {
            return Err(json!({ "code": -32603, "message": "internal error" }));
        }
        Ok(match method {
            "eth_chainId" => json!("0x1"),
            "eth_getBlockByNumber" => match params[0].as_str().unwrap() {
                "latest" => self.block(self.head),
                number => {
                    self.asked += 1;
                    self.on_asked.inspect(|act| act(self.asked));
                    self.block(u64::from_str_radix(&number[2..], 16).unwrap())
                }
            },
            "eth_getLogs" => self.logs_of(&params[0])?,
            "eth_getTransactionReceipt" => self.receipt(&params[0]),
            "eth_call" => called(&params[0])?,
            _ => return Err(json!({ "code": -32601, "message": "no such method" })),
        })
    }
}

/// The answers of the pool's helper contracts.
fn called(call: &Value) -> Result<Value, Value> {
    let data = call["data"].as_str().or(call["input"].as_str()).unwrap();
    let is = |signature: &str| data[2..10] == hex::encode(&keccak256(signature)[..4]);
    let words = match () {
        () if is("ADDRESSES_PROVIDER()") || is("getPoolDataProvider()") || is("getPriceOracle()") => {
            vec![HELPER.into_word()]
        }
        () if is("getAllReservesTokens()") => {
            vec![word(32), word(1), word(32), word(64), ASSET.into_word(), word(1), B256::right_padding_from(b"T")]
        }
        () if is("BASE_CURRENCY()") => vec![B256::ZERO],
        () if is("BASE_CURRENCY_UNIT()") => vec![word(100_000_000)],
        () if is("decimals()") => vec![word(18)],
        () if is("getReserveTokensAddresses(address)") => {
            vec![TOKEN.into_word(), Address::repeat_byte(5).into_word(), Address::repeat_byte(6).into_word()]
        }
        () if is("getReserveData(address)") => {
            let ray: B256 = U256::from(10).pow(U256::from(27)).into();
            [vec![word(0); 9], vec![ray, ray, word(1_000_000)]].concat()
        }
        () => return Err(json!({ "code": 3, "message": "execution reverted" })),
    };
    Ok(format!("0x{}", hex::encode(words.concat())).into())
}

impl Node {
    pub async fn start(chain: Arc<Mutex<Chain>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let served = chain.clone();
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(serve(connection, served.clone()));
            }
        });
        Self { url, chain }
    }

    /// Its chain, to be changed.
    pub fn set(&self, change: impl FnOnce(&mut Chain)) {
        change(&mut self.chain.lock().unwrap());
    }
}

async fn serve(mut connection: TcpStream, chain: Arc<Mutex<Chain>>) -> Option<()> {
    let mut received = Vec::new();
    loop {
        let (head, length) = loop {
            if let Some(end) = received.windows(4).position(|four| four == b"\r\n\r\n") {
                let text = String::from_utf8_lossy(&received[..end]).to_lowercase();
                let length = text.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
                break (end + 4, length.unwrap_or(0));
            }
            (connection.read_buf(&mut received).await.ok()? > 0).then_some(())?;
        };
        while received.len() < head + length {
            (connection.read_buf(&mut received).await.ok()? > 0).then_some(())?;
        }
        let request: Value = serde_json::from_slice(&received[head..head + length]).ok()?;
        received.drain(..head + length);
        let answer = |request: &Value| {
            let method = request["method"].as_str().unwrap_or_default();
            match chain.lock().unwrap().answer(method, &request["params"]) {
                Ok(result) => json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }),
                Err(error) => json!({ "jsonrpc": "2.0", "id": request["id"], "error": error }),
            }
        };
        let body = match &request {
            Value::Array(requests) => requests.iter().map(answer).collect::<Vec<_>>().into(),
            request => answer(request),
        };
        let body = body.to_string();
        let text = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        connection.write_all(text.as_bytes()).await.ok()?;
    }
}
