//! `$limit`, `$skip` and `$count`.

use std::sync::Arc;

use bson::raw::CString;
use bson::{RawBsonRef, RawDocumentBuf};
use expression::{Error, Result};

use crate::execution::{Budget, Environment, Flow, Operator, Out, Start};
use crate::refuse;

/// `$limit`
#[derive(Debug)]
pub(crate) struct Limit(pub(crate) u64);

impl Limit {
    pub(crate) fn parse(value: RawBsonRef<'_>) -> Result<Self> {
        match refuse::natural("$limit", value, 5_107_201)? {
            0 => Err(Error::location(15_958, "the limit must be positive")),
            limit => Ok(Self(limit)),
        }
    }
}

impl Start for Limit {
    fn start(self: Arc<Self>, _budget: &Arc<Budget>) -> Box<dyn Operator> {
        Box::new(Limited { left: self.0 })
    }
}

struct Limited {
    left: u64,
}

impl Operator for Limited {
    fn push(
        &mut self,
        document: RawDocumentBuf,
        _environment: &Environment<'_>,
        out: &mut Out<'_>,
    ) -> Result<Flow> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(Flow::Enough) };
        self.left = left;
        let flow = out(document)?;
        Ok(if left == 0 { Flow::Enough } else { flow })
    }
}

/// `$skip`
#[derive(Debug)]
pub(crate) struct Skip(u64);

impl Skip {
    pub(crate) fn parse(value: RawBsonRef<'_>) -> Result<Self> {
        refuse::natural("$skip", value, 5_107_200).map(Self)
    }
}

impl Start for Skip {
    fn start(self: Arc<Self>, _budget: &Arc<Budget>) -> Box<dyn Operator> {
        Box::new(Skipping { left: self.0 })
    }
}

struct Skipping {
    left: u64,
}

impl Operator for Skipping {
    fn push(
        &mut self,
        document: RawDocumentBuf,
        _environment: &Environment<'_>,
        out: &mut Out<'_>,
    ) -> Result<Flow> {
        match self.left.checked_sub(1) {
            None => out(document),
            Some(left) => {
                self.left = left;
                Ok(Flow::More)
            }
        }
    }
}

/// `$count`
#[derive(Debug)]
pub(crate) struct Count(CString);

impl Count {
    pub(crate) fn parse(value: RawBsonRef<'_>) -> Result<Self> {
        let name = value
            .as_str()
            .ok_or_else(|| Error::location(40_156, "the count field must be a non-empty string"))?;
        if name.is_empty() {
            return Err(Error::location(40_157, "the count field must be a non-empty string"));
        }
        if name.starts_with('$') {
            return Err(Error::location(40_158, "the count field cannot be a $-prefixed path"));
        }
        if name.contains('\0') {
            return Err(Error::location(40_159, "the count field cannot contain a null byte"));
        }
        if name.contains('.') {
            return Err(Error::location(40_160, "the count field cannot contain '.'"));
        }
        Ok(Self(refuse::name(name)?))
    }
}

impl Start for Count {
    fn start(self: Arc<Self>, _budget: &Arc<Budget>) -> Box<dyn Operator> {
        Box::new(Counting { name: self, count: 0 })
    }
}

struct Counting {
    name: Arc<Count>,
    count: i64,
}

impl Operator for Counting {
    fn push(
        &mut self,
        _document: RawDocumentBuf,
        _environment: &Environment<'_>,
        _out: &mut Out<'_>,
    ) -> Result<Flow> {
        self.count += 1;
        Ok(Flow::More)
    }

    fn finish(&mut self, _environment: &Environment<'_>, out: &mut Out<'_>) -> Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        let mut document = RawDocumentBuf::new();
        match i32::try_from(self.count) {
            Ok(count) => document.append(&self.name.0, count),
            Err(_) => document.append(&self.name.0, self.count),
        }
        out(document).map(|_| ())
    }
}
