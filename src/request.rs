//! What a call carries: who asks, for what, and at what cost.
//!
//! Names (classes, tenants, features, users) are interned when a scenario is loaded; here they are dense numbers.

mod width;

pub use width::Width;

use crate::rng::Dice;
use crate::time::Nanos;
use crate::units::Rate;

/// The number of a class, dense from 0 in the order of the scenario's names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClassId(pub u16);

/// What one call carries through stages, queues and downstreams. Fixed when the call is born.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ask {
    /// The call's luck: every draw for this call is a function of it.
    pub dice: Dice,
    /// Its class.
    pub class: ClassId,
    /// Its feature's number.
    pub feature: u16,
    /// Its tenant's number.
    pub tenant: u32,
    /// Its user's number.
    pub user: u32,
    /// Tokens sent.
    pub input_tokens: u32,
    /// Tokens that the answer will have.
    pub output_tokens: u32,
    /// The most tokens that the answer may have, as the caller declares it.
    pub max_output_tokens: u32,
}

/// What a limit counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// Each call is 1.
    #[default]
    Requests,
    /// Input plus maximum output on arrival; input plus output in the end.
    Tokens,
    /// Tokens sent.
    InputTokens,
    /// The maximum output on arrival; the output in the end.
    OutputTokens,
    /// Tokens at a price each: input and maximum output on arrival; input and output in the end.
    Money(Price),
    /// What [`Ask::costing`] was given, for asks without a call behind them. Files can't name it.
    Given,
}

/// What a token costs, in whole units of a currency as small as need be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Price {
    /// A token that is sent.
    pub input: u32,
    /// A token of an answer.
    pub output: u32,
}

/// What tells the calls of a keyed limit apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// One limit per class.
    Class,
    /// One limit per tenant.
    Tenant,
    /// One limit per feature.
    Feature,
    /// One limit per user.
    User,
}

/// One key or several together: each tenant, or each feature of each tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keys {
    listed: [Option<Key>; 4],
    /// Ones where a listed name's number stands in a [`KeyId`].
    mask: [u32; 3],
}

/// Whose limit it is: the numbers of all listed names, zero for what is not listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyId(pub [u32; 3]);

impl Unit {
    /// The units that need nothing beside their name, with the name that files give them.
    pub const NAMES: [(&'static str, Unit); 4] = [
        ("requests", Unit::Requests),
        ("tokens", Unit::Tokens),
        ("input_tokens", Unit::InputTokens),
        ("output_tokens", Unit::OutputTokens),
    ];

    /// What messages call it.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Money(_) => "money",
            _ => Unit::NAMES.iter().find(|(_, unit)| *unit == self).map_or("", |(name, _)| *name),
        }
    }
}

impl Price {
    /// What a call of so many tokens costs.
    pub fn of(self, input: u32, output: u32) -> u64 {
        let parts = [(self.input, input), (self.output, output)];
        parts.iter().fold(0, |sum, (price, tokens)| sum + u64::from(*price) * u64::from(*tokens))
    }
}

impl Key {
    /// Every key with the name that files give it.
    pub const NAMES: [(&'static str, Key); 4] =
        [("class", Key::Class), ("tenant", Key::Tenant), ("feature", Key::Feature), ("user", Key::User)];
}

impl Keys {
    /// The keys in the order in which they are listed; `None` if there is none, or one of them twice.
    pub fn new(keys: &[Key]) -> Option<Keys> {
        let (mut listed, mut mask) = ([None; 4], [0; 3]);
        for (place, key) in keys.iter().enumerate() {
            if keys[..place].contains(key) {
                return None;
            }
            listed[place] = Some(*key);
            match key {
                Key::Class => mask[0] |= 0xffff_0000,
                Key::Feature => mask[0] |= 0xffff,
                Key::Tenant => mask[1] = u32::MAX,
                Key::User => mask[2] = u32::MAX,
            }
        }
        (!keys.is_empty()).then_some(Keys { listed, mask })
    }

    /// The keys in the order in which they were listed.
    pub fn iter(&self) -> impl Iterator<Item = Key> + use<> {
        self.listed.into_iter().flatten()
    }

    /// The key, if it is one alone.
    pub fn alone(&self) -> Option<Key> {
        if self.listed[1].is_none() { self.listed[0] } else { None }
    }
}

impl From<Key> for Keys {
    fn from(key: Key) -> Keys {
        Keys::new(&[key]).expect("one key is a list without repetition")
    }
}

impl Ask {
    /// An ask of any cost in [`Unit::Given`]: its halves take the place of tokens, so that no call grows by a field.
    pub fn costing(cost: u64) -> Ask {
        let (high, low) = ((cost >> 32) as u32, cost as u32);
        Ask { input_tokens: high, output_tokens: low, max_output_tokens: low, ..Ask::default() }
    }

    /// What the call is expected to cost when it arrives, in `unit`.
    pub fn estimate(&self, unit: Unit) -> u64 {
        match unit {
            Unit::Requests => 1,
            Unit::Tokens => self.input_tokens as u64 + self.max_output_tokens as u64,
            Unit::InputTokens => self.input_tokens as u64,
            Unit::OutputTokens => self.max_output_tokens as u64,
            Unit::Money(price) => price.of(self.input_tokens, self.max_output_tokens),
            Unit::Given => (self.input_tokens as u64) << 32 | self.max_output_tokens as u64,
        }
    }

    /// What the call has cost when it was served, in `unit`.
    pub fn actual(&self, unit: Unit) -> u64 {
        match unit {
            Unit::Requests => 1,
            Unit::Tokens => self.input_tokens as u64 + self.output_tokens as u64,
            Unit::InputTokens => self.input_tokens as u64,
            Unit::OutputTokens => self.output_tokens as u64,
            Unit::Money(price) => price.of(self.input_tokens, self.output_tokens),
            Unit::Given => (self.input_tokens as u64) << 32 | self.output_tokens as u64,
        }
    }

    /// The call's number under `key`.
    pub fn key(&self, key: Key) -> u32 {
        match key {
            Key::Class => self.class.0 as u32,
            Key::Tenant => self.tenant,
            Key::Feature => self.feature as u32,
            Key::User => self.user,
        }
    }
}

impl Ask {
    /// Whose limit the call meets, if there is one for each of `keys`.
    #[inline]
    pub fn key_id(&self, keys: Keys) -> KeyId {
        let [first, tenant, user] = keys.mask;
        let few = (self.class.0 as u32) << 16 | self.feature as u32;
        KeyId([few & first, self.tenant & tenant, self.user & user])
    }

    /// The same ask of the one whose number under `key` is this.
    pub fn with_key(self, key: Key, number: u32) -> Ask {
        match key {
            Key::Class => Ask { class: ClassId(number as u16), ..self },
            Key::Tenant => Ask { tenant: number, ..self },
            Key::Feature => Ask { feature: number as u16, ..self },
            Key::User => Ask { user: number, ..self },
        }
    }
}

/// How work that took from a stage has ended, for settling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It was turned away by a later stage or left the queue: nothing was spent.
    Unused,
    /// It was served well, in so long.
    Completed(Nanos),
    /// It failed after so long.
    Failed(Nanos),
    /// Its caller took it back after so long.
    Cancelled(Nanos),
}

/// Why an attempt was turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Reason {
    /// A limiter refused it.
    RateLimited,
    /// No slot, and no queue to wait in.
    Concurrency,
    /// The queue was full.
    QueueFull,
    /// It waited longer than the queue allows.
    QueueTimeout,
    /// A budget of tokens or money in flight had no room.
    Budget,
    /// A circuit breaker was open.
    CircuitOpen,
    /// A shedder chose it.
    Shed,
    /// Anything else.
    Other,
}

impl Reason {
    /// Every reason with the name that files give it, in the order of the columns.
    pub const NAMES: [(&'static str, Reason); 8] = [
        ("rate_limited", Reason::RateLimited),
        ("concurrency", Reason::Concurrency),
        ("queue_full", Reason::QueueFull),
        ("queue_timeout", Reason::QueueTimeout),
        ("budget", Reason::Budget),
        ("circuit_open", Reason::CircuitOpen),
        ("shed", Reason::Shed),
        ("other", Reason::Other),
    ];

    /// The name that files give it.
    pub fn name(self) -> &'static str {
        Reason::NAMES[self as usize].0
    }
}

/// A change of one number of a part while the run goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Knob {
    /// Units over time, of a limiter.
    Rate(Rate),
    /// The most that may pass a limiter at once.
    Burst(u64),
    /// The most that may be in flight; `None` is unlimited.
    Limit(Option<u64>),
    /// The factor on service times.
    Slowdown(f64),
    /// Slots of a downstream; `None` is unlimited.
    Concurrency(Option<u64>),
    /// Share of attempts that fail.
    ErrorRate(f64),
    /// Whether everything fails at once.
    Outage(bool),
    /// Places in a queue; `None` is unlimited.
    MaxLength(Option<u64>),
    /// The longest wait in a queue; `None` is for ever.
    MaxWait(Option<Nanos>),
}
