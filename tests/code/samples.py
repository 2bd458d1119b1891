"""A small program in each language that the code map reads, in two files, and what is right to say
of it.

Each has a class `Pump` with a method `fill`, in the one file, and in the other a function or method
that calls it and a function `helper`. Rows: language → ({path: text}, symbols that must be there,
edges that must be there). An edge is (kind, within, name of what it leads to).
"""

from typing import NamedTuple


class Sample(NamedTuple):
    files: dict[str, str]
    symbols: set[tuple[str, str]]  # (kind, qualified name)
    edges: set[tuple[str, str, str]]  # (kind, within, qualified name; of a file its path)


SAMPLES = {
    "python": Sample(
        {
            "pkg/__init__.py": "",
            "pkg/pump.py": """
LIMIT = 3

def helper(n):
    return n

class Base:
    def drain(self):
        return helper(LIMIT)

class Pump(Base):
    def __init__(self):
        self.level = 0

    def fill(self, n: int) -> "Pump":
        self.drain()
        return self
""",
            "pkg/main.py": """
import pkg.pump as machine
from .pump import Pump as Device, helper as aid

def run(given: Device):
    given.fill(1).fill(2)
    machine.helper(1)
    return aid

def work():
    one = Device()
    one.drain()
""",
        },
        {
            ("variable", "LIMIT"),
            ("function", "helper"),
            ("class", "Pump"),
            ("method", "Pump.fill"),
            ("attribute", "Pump.level"),
        },
        {
            ("calls", "Base.drain", "helper"),
            ("uses", "Base.drain", "LIMIT"),
            ("inherits", "Pump", "Base"),
            ("calls", "Pump.fill", "Base.drain"),
            ("calls", "run", "Pump.fill"),
            ("calls", "run", "helper"),
            ("uses", "run", "helper"),
            ("references", "run", "Pump"),
            ("calls", "work", "Pump"),
            ("calls", "work", "Base.drain"),
            ("imports", "", "Pump"),
            ("imports", "", "pkg/pump.py"),
        },
    ),
    "javascript": Sample(
        {
            "src/pump.js": """
export const LIMIT = 3;
export function helper(n) { return n + LIMIT; }
class Base { drain() { return helper(1); } }
export class Pump extends Base {
  constructor() { super(); this.level = 0; }
  fill(n) { return this.drain(); }
}
export const twice = (n) => helper(n);
""",
            "src/main.js": """
import { Pump as Device, helper as aid } from './pump';
import * as all from './pump.js';
const { twice } = require('./pump');
function run() { const one = new Device(); one.fill(1); aid(2); all.helper(3); twice(4); }
""",
        },
        {
            ("variable", "LIMIT"),
            ("function", "helper"),
            ("class", "Pump"),
            ("method", "Pump.fill"),
            ("attribute", "Pump.level"),
            ("function", "twice"),
        },
        {
            ("calls", "Base.drain", "helper"),
            ("inherits", "Pump", "Base"),
            ("calls", "Pump.fill", "Base.drain"),
            ("calls", "run", "Pump"),
            ("calls", "run", "Pump.fill"),
            ("calls", "run", "helper"),
            ("calls", "run", "twice"),
            ("uses", "helper", "LIMIT"),
            ("imports", "", "Pump"),
        },
    ),
    "typescript": Sample(
        {
            "src/pump.ts": """
export interface Tank { level: number; }
export enum Mode { On, Off }
export function helper(n: number): number { return n; }
export default class Pump implements Tank {
  level: number = 0;
  constructor(private mode: Mode) {}
  fill(n: number): Pump { return this; }
}
""",
            "src/main.ts": """
import Pump, { helper as aid } from "./pump";
export class Crew {
  private pump: Pump = new Pump(0);
  work(): void { this.pump.fill(1).fill(2); aid(1); }
}
""",
        },
        {
            ("class", "Tank"),
            ("class", "Mode"),
            ("function", "helper"),
            ("class", "Pump"),
            ("method", "Pump.fill"),
            ("attribute", "Pump.level"),
            ("attribute", "Pump.mode"),
            ("attribute", "Crew.pump"),
        },
        {
            ("inherits", "Pump", "Tank"),
            ("calls", "Crew", "Pump"),
            ("calls", "Crew.work", "Pump.fill"),
            ("calls", "Crew.work", "helper"),
            ("references", "Crew", "Pump"),
            ("imports", "", "helper"),
        },
    ),
    "tsx": Sample(
        {
            "src/pump.tsx": """
export function Gauge(props: { level: number }) { return <b>{props.level}</b>; }
export class Pump { fill() { return 1; } }
""",
            "src/main.tsx": """
import { Gauge as Dial, Pump } from "./pump";
export const View = () => { const one = new Pump(); one.fill(); return <Dial level={3} />; };
""",
        },
        {("function", "Gauge"), ("class", "Pump"), ("method", "Pump.fill"), ("function", "View")},
        {("calls", "View", "Gauge"), ("calls", "View", "Pump.fill"), ("imports", "", "Gauge")},
    ),
    "go": Sample(
        {
            "pump/pump.go": """
package pump

const Limit = 3

type Base struct{ level int }

func (b *Base) Drain() int { return Helper(Limit) }

type Pump struct {
	Base
	name string
}

func New() *Pump { return &Pump{} }

func (p *Pump) Fill(n int) int { return p.Drain() }
""",
            "pump/more.go": """
package pump

func Helper(n int) int { return n }
""",
            "main.go": """
package main

import machine "example.com/repo/pump"

func run() {
	one := machine.New()
	one.Fill(1)
	machine.Helper(2)
}
""",
        },
        {
            ("variable", "Limit"),
            ("class", "Base"),
            ("method", "Base.Drain"),
            ("class", "Pump"),
            ("method", "Pump.Fill"),
            ("attribute", "Base.level"),
            ("function", "New"),
        },
        {
            ("calls", "Base.Drain", "Helper"),
            ("inherits", "Pump", "Base"),
            ("calls", "Pump.Fill", "Base.Drain"),
            ("calls", "run", "New"),
            ("calls", "run", "Pump.Fill"),
            ("calls", "run", "Helper"),
            ("uses", "Base.Drain", "Limit"),
            ("references", "New", "Pump"),
        },
    ),
    "rust": Sample(
        {
            "src/pump.rs": """
pub const LIMIT: u32 = 3;
pub trait Drain { fn drain(&self) -> u32; }
pub struct Pump { level: u32 }
impl Pump {
    pub fn new() -> Self { Pump { level: LIMIT } }
    pub fn fill(&mut self, n: u32) -> u32 { self.drain() + helper(n) }
}
impl Drain for Pump { fn drain(&self) -> u32 { self.level } }
pub fn helper(n: u32) -> u32 { n }
""",
            "src/main.rs": """
mod pump;
use crate::pump::{self, helper as aid, Pump};

fn run() {
    let mut one = Pump::new();
    one.fill(1);
    aid(2);
    pump::helper(3);
}
""",
        },
        {
            ("variable", "LIMIT"),
            ("class", "Drain"),
            ("class", "Pump"),
            ("method", "Pump.fill"),
            ("method", "Pump.drain"),
            ("attribute", "Pump.level"),
            ("function", "helper"),
        },
        {
            ("calls", "Pump.fill", "Pump.drain"),
            ("calls", "Pump.fill", "helper"),
            ("inherits", "Pump", "Drain"),
            ("calls", "run", "Pump.new"),
            ("calls", "run", "Pump.fill"),
            ("calls", "run", "helper"),
            ("imports", "", "helper"),
            ("uses", "Pump.new", "LIMIT"),
        },
    ),
    "java": Sample(
        {
            "src/org/water/Pump.java": """
package org.water;
public class Pump extends Base {
    static final int LIMIT = 3;
    private int level;
    public Pump fill(int n) { drain(); return this; }
}
""",
            "src/org/water/Base.java": """
package org.water;
class Base { int drain() { return Pump.LIMIT; } static int helper(int n) { return n; } }
""",
            "src/org/crew/Main.java": """
package org.crew;
import org.water.Pump;
class Main {
    private Pump pump = new Pump();
    void run() { this.pump.fill(1).fill(2); Pump one = new Pump(); one.drain(); }
}
""",
        },
        {
            ("class", "Pump"),
            ("method", "Pump.fill"),
            ("attribute", "Pump.level"),
            ("attribute", "Pump.LIMIT"),
        },
        {
            ("inherits", "Pump", "Base"),
            ("calls", "Pump.fill", "Base.drain"),
            ("calls", "Main.run", "Pump.fill"),
            ("calls", "Main.run", "Base.drain"),
            ("calls", "Main.run", "Pump"),
            ("imports", "", "Pump"),
            ("uses", "Base.drain", "Pump.LIMIT"),
        },
    ),
    "c": Sample(
        {
            "pump.h": """
#define LIMIT 3
typedef struct pump { int level; } pump_t;
int fill(struct pump *p, int n);
""",
            "pump.c": """
#include "pump.h"
static int helper(int n) { return n + LIMIT; }
int fill(struct pump *p, int n) { return helper(n); }
""",
            "main.c": """
#include <stdio.h>
#include "pump.h"
int run(void) { struct pump one; return fill(&one, LIMIT); }
""",
        },
        {
            ("variable", "LIMIT"),
            ("class", "pump"),
            ("attribute", "pump.level"),
            ("function", "fill"),
            ("function", "helper"),
        },
        {
            ("calls", "fill", "helper"),
            ("calls", "run", "fill"),
            ("uses", "run", "LIMIT"),
            ("imports", "", "pump.h"),
            ("references", "run", "pump"),
        },
    ),
    "cpp": Sample(
        {
            "pump.hpp": """
namespace water {
class Base { public: int drain() { return 1; } };
class Pump : public Base {
 public:
  int fill(int n);
  int level;
};
int helper(int n);
}
""",
            "pump.cpp": """
#include "pump.hpp"
namespace water {
int helper(int n) { return n; }
int Pump::fill(int n) { return drain() + helper(n); }
}
""",
            "main.cpp": """
#include "pump.hpp"
int run() { water::Pump one; one.fill(1); return water::helper(2); }
""",
        },
        {
            ("class", "Base"),
            ("class", "Pump"),
            ("method", "Pump.fill"),
            ("attribute", "Pump.level"),
            ("function", "helper"),
            ("method", "Base.drain"),
        },
        {
            ("inherits", "Pump", "Base"),
            ("calls", "Pump.fill", "Base.drain"),
            ("calls", "Pump.fill", "helper"),
            ("calls", "run", "Pump.fill"),
            ("imports", "", "pump.hpp"),
        },
    ),
    "ruby": Sample(
        {
            "lib/pump.rb": """
LIMIT = 3
module Draining
  def drain
    helper(LIMIT)
  end
end

class Pump
  include Draining
  def initialize
    @level = 0
  end

  def fill(n)
    drain
    self
  end
end

def helper(n)
  n
end
""",
            "lib/main.rb": """
require_relative "pump"
class Crew
  def initialize
    @pump = Pump.new
  end

  def work
    @pump.fill(1)
    helper(2)
  end
end
""",
        },
        {
            ("variable", "LIMIT"),
            ("class", "Draining"),
            ("method", "Draining.drain"),
            ("class", "Pump"),
            ("method", "Pump.fill"),
            ("attribute", "Pump.level"),
            ("function", "helper"),
        },
        {
            ("inherits", "Pump", "Draining"),
            ("calls", "Draining.drain", "helper"),
            ("calls", "Pump.fill", "Draining.drain"),
            ("calls", "Crew.work", "Pump.fill"),
            ("calls", "Crew.work", "helper"),
            ("imports", "", "lib/pump.rb"),
            ("uses", "Draining.drain", "LIMIT"),
        },
    ),
    "c_sharp": Sample(
        {
            "Water/Pump.cs": """
namespace Water {
  public class Base { public int Drain() { return 1; } }
  public class Pump : Base {
    private int level;
    public string Name { get; set; }
    public Pump Fill(int n) { Drain(); return this; }
  }
}
""",
            "Crew/Main.cs": """
using Water;
namespace Crew {
  class Main {
    private Pump pump = new Pump();
    void Run() { this.pump.Fill(1).Fill(2); var one = new Pump(); one.Drain(); }
  }
}
""",
        },
        {
            ("class", "Base"),
            ("class", "Pump"),
            ("method", "Pump.Fill"),
            ("attribute", "Pump.level"),
            ("attribute", "Pump.Name"),
        },
        {
            ("inherits", "Pump", "Base"),
            ("calls", "Pump.Fill", "Base.Drain"),
            ("calls", "Main.Run", "Pump.Fill"),
            ("calls", "Main.Run", "Base.Drain"),
            ("calls", "Main.Run", "Pump"),
            ("references", "Main", "Pump"),
        },
    ),
    "php": Sample(
        {
            "src/Water/Pump.php": """<?php
namespace App\\Water;
const LIMIT = 3;
abstract class Base { public function drain() { return 1; } }
class Pump extends Base {
    private int $level = 0;
    public function fill(int $n): self { $this->drain(); return $this; }
    public static function make(): Pump { return new Pump(); }
}
function helper(int $n) { return $n; }
""",
            "src/Crew/Main.php": """<?php
namespace App\\Crew;
use App\\Water\\Pump as Device;
class Main {
    public function __construct(private Device $pump) {}
    public function run() { $this->pump->fill(1)->fill(2); $one = Device::make(); $one->drain(); helper(1); }
}
""",
        },
        {
            ("class", "Base"),
            ("class", "Pump"),
            ("method", "Pump.fill"),
            ("attribute", "Pump.level"),
            ("function", "helper"),
            ("variable", "LIMIT"),
        },
        {
            ("inherits", "Pump", "Base"),
            ("calls", "Pump.fill", "Base.drain"),
            ("calls", "Main.run", "Pump.fill"),
            ("calls", "Main.run", "Pump.make"),
            ("calls", "Main.run", "Base.drain"),
            ("calls", "Main.run", "helper"),
            ("imports", "", "Pump"),
        },
    ),
    "bash": Sample(
        {
            "lib/pump.sh": """
LIMIT=3
helper() { echo "$1"; }
function fill() { helper "$LIMIT"; }
""",
            "main.sh": """#!/bin/bash
source "$(dirname "$0")/lib/pump.sh"
run() { fill 1; }
run
""",
        },
        {("variable", "LIMIT"), ("function", "helper"), ("function", "fill"), ("function", "run")},
        {
            ("calls", "fill", "helper"),
            ("calls", "run", "fill"),
            ("calls", "", "run"),
            ("imports", "", "lib/pump.sh"),
            ("uses", "fill", "LIMIT"),
        },
    ),
}
